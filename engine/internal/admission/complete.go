package admission

import (
	"cmp"
	"strings"

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
		p.completeUpdate()
		return
	}
	if namespace, ok := p.metaString(meta, "namespace"); ok && p.def.Namespaced && namespace == "" &&
		!p.handlesNamespace() {
		namespace = metav1.NamespaceDefault
		if p.r.Namespace != "" {
			namespace = p.r.Namespace
		}
		p.fillIn("namespace", namespace)
		meta = p.d.Field(p.root, "metadata")
	}
	name, ok := p.metaString(meta, "name")
	base, _ := p.metaString(meta, "generateName")
	if ok && name == "" {
		switch {
		case p.r.GeneratedName != "" && base != "": // generateName sets it
		case p.r.Name != "":
			p.fillIn("name", p.r.Name)
		case base != "":
			p.fillIn("name", base[:min(len(base), maxNameBase)]+generatedSuffix)
		}
	}
}

// generateName gives an object that is created with a generateName and without a name the generated name of the request.
//
// Upstream: registry/generic/registry/store.go, create.
func (p *pass) generateName() {
	if p.r.GeneratedName == "" {
		return
	}
	meta := p.d.Field(p.root, "metadata")
	name, ok := p.metaString(meta, "name")
	base, _ := p.metaString(meta, "generateName")
	if ok && name == "" && base != "" {
		p.set("name", p.r.GeneratedName)
		p.generated = true
	}
}

// handlesNamespace reports whether the request handler sets the request's namespace on an object without one.
func (p *pass) handlesNamespace() bool { return p.r.Namespace != "" && p.r.Handler && !p.r.AsGiven }

func (p *pass) completeUpdate() {
	old := p.d.Field(p.old.root, "metadata")
	for _, key := range [...]string{"name", "namespace", "resourceVersion"} {
		meta := p.d.Field(p.root, "metadata")
		text, ok := p.metaString(meta, key)
		before, _ := p.metaString(old, key)
		if ok && text == "" && before != "" && (key != "namespace" || !p.handlesNamespace()) {
			p.fillIn(key, strings.Clone(before))
		}
	}
	p.fillRevision()
}

// completeOld fills in the namespace of an old object that comes from a file: that of the request or of the new object.
func (p *pass) completeOld(q *pass) {
	if !p.r.CompleteMetadata || !p.def.Namespaced {
		return
	}
	before, ok := q.metaString(p.d.Field(q.root, "metadata"), "namespace")
	if !ok || before != "" {
		return
	}
	namespace := p.r.Namespace
	if namespace == "" {
		p.borrowedNamespace = true
		if p.root != 0 {
			namespace, _ = p.metaString(p.d.Field(p.root, "metadata"), "namespace")
		}
		namespace = cmp.Or(namespace, metav1.NamespaceDefault)
	}
	q.set("namespace", strings.Clone(namespace))
	if p.borrowedNamespace && (p.r.Patched || p.r.Scale) { // the new object takes it from the old one
		p.completed = append(p.completed, "namespace")
	}
}

// fillIn sets a field of metadata for the time of the evaluation.
func (p *pass) fillIn(key, text string) {
	p.set(key, text)
	p.completed = append(p.completed, key)
}

// removeCompleted removes the fields that fillIn set.
func (p *pass) removeCompleted() {
	for _, key := range p.completed {
		p.remove(p.d.Field(p.root, "metadata"), key)
	}
}
