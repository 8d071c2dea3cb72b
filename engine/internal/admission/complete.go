package admission

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdeval/crdeval/engine/value"
)

// generatedSuffix stands for the five random characters that a server appends to generateName.
const generatedSuffix = "00000"

// longestBase is how much of generateName upstream keeps: 63 bytes less the suffix.
const longestBase = 63 - len(generatedSuffix)

// complete fills in, if the request asks for it, what a server would have by now: the namespace and a generated name. Of an update it is
// what a client would have read with the old object: its name, its namespace and its resourceVersion.
func (p *pass) complete() {
	if !p.r.CompleteMetadata {
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
	if namespace, ok := p.metaString(meta, "namespace"); ok && p.def.Namespaced && namespace == "" {
		namespace = metav1.NamespaceDefault
		if p.r.Namespace != "" {
			namespace = p.r.Namespace
		}
		p.set("namespace", namespace)
		meta = p.d.Field(p.root, "metadata")
	}
	name, ok := p.metaString(meta, "name")
	base, _ := p.metaString(meta, "generateName")
	if ok && name == "" {
		switch {
		case p.r.Name != "":
			p.set("name", p.r.Name)
		case base != "":
			p.set("name", base[:min(len(base), longestBase)]+generatedSuffix)
		}
	}
}

func (p *pass) completeUpdate() {
	old := p.d.Field(p.old.root, "metadata")
	for _, key := range [...]string{"name", "namespace", "resourceVersion"} {
		meta := p.d.Field(p.root, "metadata")
		text, ok := p.metaString(meta, key)
		before, _ := p.metaString(old, key)
		if ok && text == "" && before != "" {
			p.set(key, strings.Clone(before))
		}
	}
}
