package admission

import (
	"cmp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdeval/crdeval/internal/value"
)

// generatedSuffix stands for the five random characters that a server appends to generateName.
const generatedSuffix = "00000"

// longestBase is how much of generateName upstream keeps: 63 bytes less the suffix.
const longestBase = 63 - len(generatedSuffix)

// complete fills in, if the request asks for it, what a server would have by now: the namespace and a generated name. Of an update it is
// what a client would have read with the old object: its name, its namespace and its resourceVersion. What a patch made has it from the old object.
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
	if namespace, ok := p.metaString(meta, "namespace"); ok && p.def.Namespaced && namespace == "" && !p.handlesNamespace() {
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
			p.fillIn("name", base[:min(len(base), longestBase)]+generatedSuffix)
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

// handlesNamespace reports that the request handler puts the request's namespace into an object that has none, where it stays.
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
	p.unversioned()
}

// completeOld fills in, if the request asks for it, the namespace of an old object that q has read from a file instead of a storage: that of the request,
// or of the new object.
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
		p.lent = true
		if p.root != 0 {
			namespace, _ = p.metaString(p.d.Field(p.root, "metadata"), "namespace")
		}
		namespace = cmp.Or(namespace, metav1.NamespaceDefault)
	}
	q.set("namespace", strings.Clone(namespace))
	if p.lent && (p.r.Patched || p.r.Scale) { // the new object has it from the old one
		p.completed = append(p.completed, "namespace")
	}
}

// fillIn sets a member of metadata for as long as the object is judged.
func (p *pass) fillIn(key, text string) {
	p.set(key, text)
	p.completed = append(p.completed, key)
}

// withdraw takes out what was filled in.
func (p *pass) withdraw() {
	for _, key := range p.completed {
		p.remove(p.d.Field(p.root, "metadata"), key)
	}
}
