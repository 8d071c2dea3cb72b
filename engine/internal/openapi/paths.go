package openapi

import (
	"slices"
)

// item writes the path item of a path and adds shared v2 parameters to noted.
func (w *writer) item(r *Resource, p *path, noted map[string][]byte) {
	shared, own := p.parameters(r)
	w.open('{')
	for _, method := range methods {
		i := slices.IndexFunc(p.operations, func(o operation) bool { return o.method == method })
		if i < 0 {
			continue
		}
		w.key(method)
		if w.form == V2Form {
			w.operation2(r, &p.operations[i], own[i], noted)
		} else {
			w.operation3(r, &p.operations[i], own[i])
		}
	}
	if len(shared) > 0 {
		w.key("parameters").open('[')
		for i := range shared {
			w.comma()
			if w.form == V2Form {
				w.parameterOrRef2(&shared[i], noted)
			} else {
				w.parameter3(&shared[i])
			}
		}
		w.close(']')
	}
	w.close('}')
}

// operation3 writes a v3 operation.
// (k8s.io/kube-openapi/pkg/builder3/openapi.go, buildOperations)
func (w *writer) operation3(r *Resource, o *operation, own []parameter) {
	w.open('{')
	w.texts("tags", []string{r.tag()})
	w.key("description").text(o.description)
	w.key("operationId").text(o.id(r))
	own = slices.DeleteFunc(own, func(p parameter) bool { return p.in == "body" })
	if len(own) > 0 {
		w.key("parameters").open('[')
		for i := range own {
			w.comma()
			w.parameter3(&own[i])
		}
		w.close(']')
	}
	if o.body != "" {
		w.key("requestBody").open('{')
		w.content(o.consumes(), o.body)
		w.flag("required", o.action != "delete")
		w.close('}')
	}
	w.key("responses").open('{')
	for _, reply := range o.replies() {
		w.key(reply.code).open('{')
		w.key("description").text(reply.description)
		w.content(resourceTypes, o.answer)
		w.close('}')
	}
	w.unauthorized()
	w.close('}')
	w.action(r, o)
	w.close('}')
}

// content writes the definition of a body for each media type.
func (w *writer) content(types []string, model string) {
	w.key("content").open('{')
	for _, t := range slices.Sorted(slices.Values(types)) {
		w.key(t).open('{')
		w.key("schema").ref(model)
		w.close('}')
	}
	w.close('}')
}

// operation2 writes a v2 operation.
// (k8s.io/kube-openapi/pkg/builder/openapi.go, buildOperations)
func (w *writer) operation2(r *Resource, o *operation, own []parameter, noted map[string][]byte) {
	w.open('{')
	w.key("description").text(o.description)
	w.texts("consumes", o.consumes())
	w.texts("produces", resourceTypes)
	w.texts("schemes", []string{"https"})
	w.texts("tags", []string{r.tag()})
	w.key("operationId").text(o.id(r))
	if len(own) > 0 {
		w.key("parameters").open('[')
		for i := range own {
			w.comma()
			w.parameterOrRef2(&own[i], noted)
		}
		w.close(']')
	}
	w.key("responses").open('{')
	for _, reply := range o.replies() {
		w.key(reply.code).open('{')
		w.key("description").text(reply.description)
		w.key("schema").ref(o.answer)
		w.close('}')
	}
	w.unauthorized()
	w.close('}')
	w.action(r, o)
	w.close('}')
}

func (w *writer) unauthorized() {
	w.key("401").open('{')
	w.key("description").text("Unauthorized")
	w.close('}')
}

// action writes the Kubernetes action of an operation and the group, version and kind that it works on.
func (w *writer) action(r *Resource, o *operation) {
	w.key("x-kubernetes-action").text(o.action)
	w.key("x-kubernetes-group-version-kind").open('{')
	w.key("group").text(r.Group)
	w.key("version").text(r.Version)
	w.key("kind").text(r.Kind)
	w.close('}')
}
