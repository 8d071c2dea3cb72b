package openapi

import (
	"encoding/base64"
	"hash/fnv"
	"slices"
	"strings"
)

// item writes the path item of a path.
func (w *writer) item(r *Resource, p *path) {
	shared, own := p.parameters(r)
	w.open('{')
	for _, method := range methods {
		if i := slices.IndexFunc(p.operations, func(o operation) bool { return o.method == method }); i >= 0 {
			w.key(method)
			w.operation(r, &p.operations[i], own[i])
		}
	}
	w.parameters(shared)
	w.close('}')
}

// operation writes an operation.
// (k8s.io/kube-openapi/pkg/builder/openapi.go and pkg/builder3/openapi.go, buildOperations)
func (w *writer) operation(r *Resource, o *operation, own []parameter) {
	v2 := w.form == V2Form
	w.open('{')
	if !v2 {
		w.texts("tags", []string{r.tag()})
		own = slices.DeleteFunc(own, func(p parameter) bool { return p.in == "body" })
	}
	w.key("description").text(o.description)
	if v2 {
		w.texts("consumes", o.consumes())
		w.texts("produces", resourceTypes)
		w.texts("schemes", []string{"https"})
		w.texts("tags", []string{r.tag()})
	}
	w.key("operationId").text(o.id(r))
	w.parameters(own)
	if !v2 && o.body != "" {
		w.key("requestBody").open('{')
		w.content(o.consumes(), o.body)
		w.flag("required", o.action != "delete")
		w.close('}')
	}
	w.key("responses").open('{')
	for _, reply := range o.replies() {
		w.key(reply.code).open('{')
		w.key("description").text(reply.description)
		if v2 {
			w.key("schema").ref(o.answer)
		} else {
			w.content(resourceTypes, o.answer)
		}
		w.close('}')
	}
	w.key("401").raw([]byte(`{"description":"Unauthorized"}`))
	w.close('}')
	w.key("x-kubernetes-action").text(o.action)
	w.key("x-kubernetes-group-version-kind").open('{')
	w.key("group").text(r.Group)
	w.key("version").text(r.Version)
	w.key("kind").text(r.Kind)
	w.close('}')
	w.close('}')
}

// content writes the definition of a v3 body for each media type.
func (w *writer) content(types []string, model string) {
	w.key("content").open('{')
	for _, t := range slices.Sorted(slices.Values(types)) {
		w.key(t).open('{')
		w.key("schema").ref(model)
		w.close('}')
	}
	w.close('}')
}

// parameters writes a list of parameters unless it is empty.
func (w *writer) parameters(list []parameter) {
	if len(list) == 0 {
		return
	}
	w.key("parameters").open('[')
	for i := range list {
		p := &list[i]
		w.comma()
		if w.form == V2Form {
			w.parameterV2(p)
			continue
		}
		w.open('{')
		w.key("name").text(p.Name)
		w.key("in").text(p.in)
		w.optional("description", p.Description)
		w.flag("required", p.required)
		w.key("schema").open('{')
		w.key("type").text(p.Type)
		w.flag("uniqueItems", true)
		w.close('}')
		w.close('}')
	}
	w.close(']')
}

// parameterV2 writes a v2 parameter. If many operations have it, it adds the parameter to w.shared and writes a
// reference. Some stay inline because kubectl up to 1.27 looks for them in the operation.
// (k8s.io/kube-openapi/pkg/builder/parameters.go, collectSharedParameters)
func (w *writer) parameterV2(p *parameter) {
	start, body := len(w.out), p.in == "body"
	w.open('{')
	if !body {
		w.flag("uniqueItems", true)
		w.key("type").text(p.Type)
	}
	w.optional("description", p.Description)
	w.key("name").text(p.Name)
	w.key("in").text(p.in)
	w.flag("required", p.required)
	if body {
		w.key("schema").ref(p.body)
	}
	w.close('}')
	if p.Name == "name" || p.in == "query" && (p.Name == "fieldValidation" || p.Name == "dryRun") ||
		body && !strings.HasPrefix(p.body, "io.k8s.apimachinery") {
		return
	}
	text := slices.Clone(w.out[start:])
	hash := fnv.New64()
	_, _ = hash.Write(text)                                                     // never fails
	name := p.Name + "-" + base64.URLEncoding.EncodeToString(hash.Sum(nil)[:6]) // parameters.go, base64Hash
	w.shared[name] = text
	w.out = w.out[:start]
	w.open('{')
	w.key("$ref").text("#/parameters/" + name)
	w.close('}')
}
