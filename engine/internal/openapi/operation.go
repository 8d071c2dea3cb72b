package openapi

import (
	"slices"
	"strings"
	"unicode"
)

// operation is one request method of a path.
type operation struct {
	method string // in lower case
	// action and verb are the two names Kubernetes uses: list and list, put and replace.
	action, verb string
	// subject is the object of the verb in the operationId.
	subject     string
	description string
	// answer and body are names of definitions. body is empty for requests without a body.
	answer, body string
}

// path is one path with its operations in document order.
type path struct {
	text       string
	namespaced bool // has a {namespace}
	named      bool // has a {name}
	operations []operation
}

// methods lists the methods in the order of kube-openapi.
var methods = []string{"get", "put", "post", "delete", "patch"}

// paths returns the paths of a resource, sorted.
// (builder.go, generateBuilder)
func (r *Resource) paths() []path {
	root := "/apis/" + r.Group + "/" + r.Version + "/"
	all := path{text: root + r.Plural}
	if r.Namespaced {
		all.operations = []operation{r.operation("get", "list", "list", "", r.model(r.ListKind), "")}
		all.operations[0].subject = r.Kind + "ForAllNamespaces"
		root += "namespaces/{namespace}/"
	}
	model, list := r.model(r.Kind), r.model(r.ListKind)
	collection := path{text: root + r.Plural, namespaced: r.Namespaced, operations: []operation{
		r.operation("get", "list", "list", "", list, ""),
		r.operation("post", "post", "create", "", model, model),
		r.operation("delete", "deletecollection", "deletecollection", "", status, ""),
	}}
	one := path{text: root + r.Plural + "/{name}", namespaced: r.Namespaced, named: true, operations: []operation{
		r.operation("get", "get", "read", "", model, ""),
		r.operation("put", "put", "replace", "", model, model),
		r.operation("delete", "delete", "delete", "", status, deleteOptions),
		r.operation("patch", "patch", "patch", "", model, patch),
	}}
	out := []path{collection, one}
	if r.Namespaced {
		out = append(out, all)
	}
	if r.HasStatus {
		out = append(out, r.subresource(one, "status", model))
	}
	if r.HasScale {
		out = append(out, r.subresource(one, "scale", scale))
	}
	slices.SortFunc(out, func(a, b path) int { return strings.Compare(a.text, b.text) })
	return out
}

func (r *Resource) subresource(of path, name, model string) path {
	of.text += "/" + name
	of.operations = []operation{
		r.operation("get", "get", "read", name, model, ""),
		r.operation("put", "put", "replace", name, model, model),
		r.operation("patch", "patch", "patch", name, model, patch),
	}
	return of
}

func (r *Resource) operation(method, action, verb, subresource, answer, body string) operation {
	o := operation{method: method, action: action, verb: verb, answer: answer, body: body, subject: r.Kind}
	if r.Namespaced {
		o.subject = "Namespaced" + o.subject
	}
	of := ""
	if subresource != "" {
		o.subject += strings.ToUpper(subresource[:1]) + subresource[1:]
		of = " " + subresource + " of"
	}
	switch verb {
	case "list":
		o.description = verb + " objects of kind " + r.Kind
	case "create", "delete":
		o.description = verb + of + article(r.Kind) + r.Kind
	case "deletecollection":
		o.description = "delete collection of " + r.Kind
	case "patch":
		o.description = "partially update" + of + " the specified " + r.Kind
	default:
		o.description = verb + of + " the specified " + r.Kind
	}
	return o
}

// article returns " a ", " an ", or a space if the noun looks like a plural.
// (k8s.io/apiserver/pkg/endpoints/installer.go, GetArticleForNoun)
func article(noun string) string {
	switch {
	case strings.HasSuffix(noun, "s") && !strings.HasSuffix(noun, "ss"):
		return " "
	case strings.ContainsRune("aeiouAEIOU", rune(noun[0])):
		return " an "
	}
	return " a "
}

// id returns the operationId: the first known word of the verb, then group and version, then the rest.
// (k8s.io/apiserver/pkg/endpoints/openapi/openapi.go, GetOperationIDAndTags)
func (o *operation) id(r *Resource) string {
	// Upstream takes the first verb that matches, so deletecollection becomes delete.
	verb, rest := o.verb, o.subject
	if collection, found := strings.CutPrefix(verb, "delete"); found {
		verb, rest = "delete", collection+rest
	}
	return verb + identifier(r.shortGroup(), true) + identifier(r.Version, true) + identifier(rest, true)
}

// tag returns the tag of all operations.
func (r *Resource) tag() string {
	return identifier(r.shortGroup(), false) + "_" + identifier(r.Version, false)
}

func (r *Resource) shortGroup() string { return strings.TrimSuffix(r.Group, ".k8s.io") }

// identifier joins the words of a text in camel case.
// (openapi.go, ToValidOperationID)
func identifier(s string, capital bool) string {
	var out strings.Builder
	for i, c := range s {
		switch {
		case !unicode.IsLetter(c) && c != '_' && (i == 0 || !unicode.IsDigit(c)):
			capital = true
		case capital:
			out.WriteRune(unicode.ToUpper(c))
			capital = false
		default:
			out.WriteRune(c)
		}
	}
	return out.String()
}

// Media types of requests and responses, in upstream's order.
var (
	resourceTypes = []string{"application/json", "application/yaml"}
	patchTypes    = []string{"application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"}
)

func (o *operation) consumes() []string {
	if o.action == "patch" {
		return patchTypes
	}
	return resourceTypes
}

// reply is one response of an operation.
type reply struct{ code, description string }

// replies returns the successful responses.
func (o *operation) replies() []reply {
	ok, created, accepted := reply{"200", "OK"}, reply{"201", "Created"}, reply{"202", "Accepted"}
	switch o.action {
	case "post":
		return []reply{ok, created, accepted}
	case "put":
		return []reply{ok, created}
	case "delete":
		return []reply{ok, accepted}
	}
	return []reply{ok}
}

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
