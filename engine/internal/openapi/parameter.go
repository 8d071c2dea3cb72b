package openapi

import (
	"encoding/base64"
	"hash/fnv"
	"slices"
	"strings"
)

// parameter is a parameter of an operation or of a path.
type parameter struct {
	query
	in       string // query, path or body
	required bool
	body     string // the name of the body's definition
}

// Descriptions of the path parameters.
const (
	namespaceText = "object name and auth scope, such as for teams and projects"
	nameText      = "name of the "
)

// parameters returns the parameters that all operations of the path share and those of each operation, sorted by name.
// (k8s.io/kube-openapi/pkg/builder/openapi.go, findCommonParameters)
func (p *path) parameters(r *Resource) (shared []parameter, own [][]parameter) {
	counts := map[string]int{}
	for _, o := range p.operations {
		for _, q := range static().Queries[o.action] {
			counts[q.Name]++
		}
	}
	own = make([][]parameter, len(p.operations))
	for i, o := range p.operations {
		for _, q := range static().Queries[o.action] {
			one := parameter{query: q, in: "query"}
			switch {
			case counts[q.Name] < len(p.operations):
				own[i] = append(own[i], one)
			case i == 0:
				shared = append(shared, one)
			}
		}
		if o.body != "" {
			own[i] = append(own[i], parameter{query: query{Name: "body"}, in: "body", required: o.action != "delete", body: o.body})
		}
		slices.SortFunc(own[i], byName)
	}
	if p.namespaced {
		shared = append(shared, parameter{query: query{Name: "namespace", Description: namespaceText, Type: "string"}, in: "path", required: true})
	}
	if p.named {
		shared = append(shared, parameter{query: query{Name: "name", Description: nameText + r.Kind, Type: "string"}, in: "path", required: true})
	}
	slices.SortFunc(shared, byName)
	return shared, own
}

func byName(a, b parameter) int { return strings.Compare(a.Name, b.Name) }

// parameter3 writes a v3 parameter.
func (w *writer) parameter3(p *parameter) {
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

// parameter2 writes a v2 parameter.
func (w *writer) parameter2(p *parameter) {
	w.open('{')
	if p.in != "body" {
		w.flag("uniqueItems", true)
		w.key("type").text(p.Type)
	}
	w.optional("description", p.Description)
	w.key("name").text(p.Name)
	w.key("in").text(p.in)
	w.flag("required", p.required)
	if p.in == "body" {
		w.key("schema").ref(p.body)
	}
	w.close('}')
}

// parameterOrRef2 writes a v2 parameter. If many operations have it, it adds the parameter to noted and writes a
// reference. Some stay inline because kubectl up to 1.27 looks for them in the operation.
// (k8s.io/kube-openapi/pkg/builder/parameters.go, collectSharedParameters)
func (w *writer) parameterOrRef2(p *parameter, noted map[string][]byte) {
	start := len(w.out)
	w.parameter2(p)
	if p.Name == "name" || p.in == "query" && (p.Name == "fieldValidation" || p.Name == "dryRun") ||
		p.in == "body" && !strings.HasPrefix(p.body, "io.k8s.apimachinery") {
		return
	}
	text := slices.Clone(w.out[start:])
	w.out = w.out[:start]
	name := p.Name + "-" + shortHash(text)
	noted[name] = text
	w.open('{')
	w.key("$ref").text("#/parameters/" + name)
	w.close('}')
}

// shortHash returns a hash of a text in 8 characters.
// (parameters.go, base64Hash)
func shortHash(text []byte) string {
	h := fnv.New64()
	_, _ = h.Write(text) // a hash never fails
	return base64.URLEncoding.EncodeToString(h.Sum(nil)[:6])
}
