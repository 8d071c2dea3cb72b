package admission

import (
	"fmt"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/internal/program"
	"github.com/crdeval/crdeval/engine/value"
)

var editsPool = sync.Pool{New: func() any { return new(program.Edits) }}

// handle is what the request handler does to metadata between decoding and the strategy: the name and the namespace of the
// request are matched, owner references deduplicated. True: the request was refused.
//
// Upstream: endpoints/handlers/create.go; registry/rest/meta.go, EnsureObjectNamespaceMatchesRequestNamespace.
func (p *pass) handle() (refused bool) {
	d := p.d
	meta := d.Field(p.root, "metadata")
	name, _ := p.metaString(meta, "name")
	if p.r.Name != "" && name != p.r.Name {
		text := fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", name, p.r.Name)
		p.out.Refusal = badRequest(text, text)
		return true
	}
	switch namespace, _ := p.metaString(meta, "namespace"); {
	case !p.def.Namespaced:
		if namespace != "" {
			p.remove(meta, "namespace")
		}
	case p.r.Namespace == "" || namespace == p.r.Namespace:
	case namespace == "":
		p.set("namespace", p.r.Namespace)
	default:
		text := "the namespace of the provided object does not match the namespace sent on the request"
		p.out.Refusal = badRequest(text, text)
		return true
	}
	p.dedupOwners(meta)
	return false
}

// metaString is a text of metadata, "" if there is none; not ok if there is something else in its place.
func (p *pass) metaString(meta uint32, key string) (text string, ok bool) {
	if meta == 0 {
		return "", true
	}
	text, _, err := nestedString(p.d, meta, key)
	return text, err == nil
}

// remove drops a member of metadata.
func (p *pass) remove(meta uint32, key string) {
	prev := uint32(0)
	for c := p.d.Nodes[meta].First; c != 0; c = p.d.Nodes[c].Next {
		if p.d.Key(c) == key {
			p.d.Remove(meta, prev, c)
			p.d.MarkDirty(p.root, meta)
			return
		}
		prev = c
	}
}

// dedupOwners drops owner references that repeat an earlier one.
func (p *pass) dedupOwners(meta uint32) {
	if meta == 0 {
		return
	}
	if owners := p.d.Field(meta, "ownerReferences"); owners == 0 || p.d.Len(owners) < 2 {
		return
	}
	m, err := metadata.Decode(p.d, meta)
	if err != nil {
		return // coerced metadata decodes
	}
	kept, warning := metadata.DedupOwners(m.OwnerReferences)
	if warning == "" {
		return
	}
	m.OwnerReferences = kept
	if err := metadata.Replace(p.d, meta, m); err == nil {
		p.d.MarkDirty(p.root)
	}
	p.warn(warning)
}

// generatedSuffix stands for the five random characters that a server appends to generateName.
const generatedSuffix = "00000"

// longestBase is how much of generateName upstream keeps: 63 bytes less the suffix.
const longestBase = 63 - len(generatedSuffix)

// complete fills in, if the request asks for it, what a server would have by now: the namespace and a generated name.
func (p *pass) complete() {
	if !p.r.CompleteMetadata {
		return
	}
	meta := p.d.Field(p.root, "metadata")
	if meta != 0 && p.d.Nodes[meta].Kind != value.Object {
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

// warnFinalizers adds what the strategy says about finalizers of an object that is created, in the order of their names.
//
// Upstream: registry/customresource/strategy.go, WarningsOnCreate; validator.go, validateKubeFinalizerName.
func (p *pass) warnFinalizers() {
	d := p.d
	meta := d.Field(p.root, "metadata")
	if meta == 0 {
		return
	}
	list := d.Field(meta, "finalizers")
	if list == 0 || d.Nodes[list].Kind != value.Array {
		return
	}
	names := sets.New[string]()
	for c := d.Nodes[list].First; c != 0; c = d.Nodes[c].Next {
		if d.Nodes[c].Kind == value.String {
			names.Insert(strings.Clone(d.Str(c)))
		}
	}
	for _, name := range sets.List(names) {
		p.warn(finalizerWarnings(name)...)
	}
}

func finalizerWarnings(name string) (texts []string) {
	for _, msg := range validation.IsQualifiedName(name) {
		texts = append(texts, fmt.Sprintf("metadata.finalizers: %q: %s", name, msg))
	}
	switch {
	case strings.Contains(name, "/"), name == metav1.FinalizerOrphanDependents, name == metav1.FinalizerDeleteDependents, name == "kubernetes":
	case strings.Contains(name, "."):
		texts = append(texts, fmt.Sprintf("metadata.finalizers: %q: prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers", name))
	default:
		texts = append(texts, fmt.Sprintf("metadata.finalizers: %q: prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers", name))
	}
	return texts
}
