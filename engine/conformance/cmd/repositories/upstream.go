package main

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/crdeval/crdeval/engine/conformance/oracle"
)

// upstream evaluates objects with the CRDs of a repository and Kubernetes' own code.
type upstream struct{ byKind map[schema.GroupKind][]*crd }

// crd is a CRD that Kubernetes accepts.
type crd struct {
	file    string
	compile func() (*oracle.Definition, error)
}

const crdKind = "CustomResourceDefinition"

func (m *manifest) isCRD() bool { return m.kind == crdKind && m.group() == "apiextensions.k8s.io" }

// newUpstream registers the CRDs of files, except those of skipped files.
func newUpstream(files []*file, skipped map[string]bool) *upstream {
	u := &upstream{byKind: map[schema.GroupKind][]*crd{}}
	for _, f := range files {
		if skipped[f.name] {
			continue
		}
		for _, m := range f.manifests {
			if !m.isCRD() {
				continue
			}
			registered, answer := oracle.Register(m.json, false)
			if registered == nil || !answer.Accepted() {
				continue
			}
			of := schema.GroupKind{Group: registered.V1.Spec.Group, Kind: registered.V1.Spec.Names.Kind}
			u.byKind[of] = append(u.byKind[of], &crd{
				file: f.name, compile: sync.OnceValues(func() (*oracle.Definition, error) { return oracle.Compile(registered) }),
			})
		}
	}
	return u
}

// nearest returns the CRDs of an object: those in its own file, or else those with the deepest folder in common.
func (u *upstream) nearest(m *manifest) (all []*crd) {
	deepest := -1
	for _, c := range u.byKind[schema.GroupKind{Group: m.group(), Kind: m.kind}] {
		depth := inCommon(m.file, c.file)
		if depth > deepest {
			deepest, all = depth, nil
		}
		if depth == deepest {
			all = append(all, c)
		}
	}
	return all
}

// inCommon returns the number of folders that two files have in common. The same file counts as one more.
func inCommon(a, b string) int {
	if a == b {
		return strings.Count(a, "/") + 1
	}
	x, y := strings.Split(path.Dir(a), "/"), strings.Split(path.Dir(b), "/")
	n := 0
	for n < min(len(x), len(y)) && x[n] == y[n] && x[n] != "." {
		n++
	}
	return n
}

// answer is the result of Kubernetes' code for an object.
type answer struct {
	accepted bool
	text     string // of the rejection
	crd      string // the file of the CRD
}

// answers evaluates an object with each of its nearest CRDs. It returns nil without a CRD.
func (u *upstream) answers(m *manifest) (all []answer) {
	for _, c := range u.nearest(m) {
		a := answer{crd: c.file}
		definition, err := c.compile()
		switch {
		case err != nil:
			a.text = err.Error()
		case !slices.Contains(definition.Versions(), m.version()):
			a.text = "the CRD does not serve version " + m.version()
		default:
			a.accepted, a.text = create(definition, m)
		}
		all = append(all, a)
	}
	return all
}

// create sends a creation of an object, with the field validation of kubectl.
func create(d *oracle.Definition, m *manifest) (accepted bool, text string) {
	r := oracle.Request{
		Version: m.version(), FieldValidation: oracle.Strict, Handler: true, Namespace: m.namespace, Name: m.name,
	}
	if d.CRD.Spec.Scope == "Namespaced" && r.Namespace == "" {
		r.Namespace = "default"
	}
	r.Body = complete(m.json, r.Namespace)
	if whole, ok := d.Address(r); ok {
		r = whole
	}
	a := d.Answer(r)
	if a.Rejection != nil {
		return false, a.Rejection.Message
	}
	var texts []string
	for _, e := range a.Errors {
		texts = append(texts, e.Message)
	}
	return len(texts) == 0, strings.Join(texts, "; ")
}

// complete sets the namespace of an object as kubectl does, and generates a missing name as a server does.
func complete(text []byte, namespace string) []byte {
	var object map[string]json.RawMessage
	var metadata map[string]any
	if json.Unmarshal(text, &object) != nil || json.Unmarshal(object["metadata"], &metadata) != nil || metadata == nil {
		return text
	}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	if prefix, ok := metadata["generateName"].(string); ok && prefix != "" && metadata["name"] == nil {
		metadata["name"] = prefix + "x7k2p"
	}
	object["metadata"], _ = json.Marshal(metadata)
	completed, _ := json.Marshal(object)
	return completed
}

// isBuiltIn reports whether a group belongs to Kubernetes.
func isBuiltIn(group string) bool {
	return scheme.Scheme.IsGroupRegistered(group) || group == "apiextensions.k8s.io" || group == "apiregistration.k8s.io"
}
