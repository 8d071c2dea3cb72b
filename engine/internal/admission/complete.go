package admission

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdeval/crdeval/engine/value"
)

// generatedSuffix stands for the five random characters that a server appends to generateName.
const generatedSuffix = "00000"

// maxNameBase is how many bytes of generateName upstream keeps.
const maxNameBase = 63 - len(generatedSuffix)

// complete fills in what a server or a client would have set, if the request asks for it: the namespace and a generated
// name; for an update, the old object's name, namespace and resourceVersion. A patched object has those already.
func (p *pass) complete() {
	if !p.r.CompleteMetadata || p.r.Patched {
		return
	}
	meta := p.d.Field(p.root, "metadata")
	if meta != 0 && p.d.Nodes[meta].Kind != value.Object {
		return
	}
	if p.old.root != 0 {
		for _, key := range [...]string{"name", "namespace", "resourceVersion"} {
			before, _ := p.metaString(p.old.root, key)
			p.fillIn(key, before)
		}
		p.fillRevision()
		return
	}
	if p.def.Namespaced {
		p.fillIn("namespace", cmp.Or(p.r.Namespace, metav1.NamespaceDefault))
	}
	base, _ := p.metaString(p.root, "generateName")
	switch {
	case p.r.GeneratedName != "" && base != "": // generateName sets it
	case p.r.Name != "":
		p.fillIn("name", p.r.Name)
	case base != "":
		p.fillIn("name", base[:min(len(base), maxNameBase)]+generatedSuffix)
	}
}

// fillIn sets an absent field of metadata for the time of the evaluation, unless the text is empty or the request
// handler sets the field.
func (p *pass) fillIn(key, text string) {
	present, ok := p.metaString(p.root, key)
	if !ok || present != "" || text == "" || key == "namespace" && p.r.Namespace != "" && p.r.Handler && !p.r.AsGiven {
		return
	}
	p.set(key, text)
	p.completed = append(p.completed, key)
}

// fillRevision fills in a resourceVersion if neither the body nor the old object has one.
func (p *pass) fillRevision() {
	if before, _ := p.metaString(p.old.root, "resourceVersion"); before == "" {
		p.fillIn("resourceVersion", "1")
	}
}

// generateName gives an object that is created with a generateName and without a name the generated name of the request.
//
// Upstream: registry/generic/registry/store.go, create.
func (p *pass) generateName() {
	if p.r.GeneratedName == "" {
		return
	}
	name, ok := p.metaString(p.root, "name")
	base, _ := p.metaString(p.root, "generateName")
	if ok && name == "" && base != "" {
		p.set("name", p.r.GeneratedName)
		p.generated = true
	}
}

// completeOld fills in the namespace of an old object that comes from a file: that of the request or of the new object.
func (p *pass) completeOld(q *pass) {
	if !p.r.CompleteMetadata || !p.def.Namespaced {
		return
	}
	before, ok := q.metaString(q.root, "namespace")
	if !ok || before != "" {
		return
	}
	namespace := p.r.Namespace
	if namespace == "" {
		p.borrowedNamespace = true // also of the patched object, which is evaluated with the old one read again
		namespace, _ = p.metaString(p.root, "namespace")
		namespace = cmp.Or(namespace, metav1.NamespaceDefault)
	}
	q.set("namespace", namespace)
	if p.borrowedNamespace && (p.r.Patched || p.r.Scale) { // the new object takes it from the old one
		p.completed = append(p.completed, "namespace")
	}
}

// removeCompleted removes the fields that fillIn set.
func (p *pass) removeCompleted() {
	for _, key := range p.completed {
		p.remove(key)
	}
}
