package admission

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crdeval/crdeval/engine/value"
)

// warnFinalizers adds the strategy's warnings about new finalizers, sorted by name. Updates of the status have none.
//
// Upstream: registry/customresource/strategy.go, generateWarningsFromObj; validator.go, validateKubeFinalizerName.
func (p *pass) warnFinalizers() {
	list, old := p.finalizerList(p.root), p.finalizerList(p.old.root)
	if p.r.Status || p.d.Nodes[list].First == 0 || old != 0 && value.Equal(p.d, list, p.d, old) {
		return
	}
	added := p.namesIn(list).Difference(p.namesIn(old))
	for _, name := range sets.List(added) {
		p.warn(finalizerWarnings(name)...)
	}
}

// finalizerList returns the list of an object's finalizers, or 0.
func (p *pass) finalizerList(root uint32) uint32 {
	list := p.d.Field(p.d.Field(root, "metadata"), "finalizers")
	if p.d.Nodes[list].Kind != value.Array {
		return 0
	}
	return list
}

func (p *pass) namesIn(list uint32) sets.Set[string] {
	d, names := p.d, sets.New[string]()
	for c := d.Nodes[list].First; c != 0; c = d.Nodes[c].Next {
		if d.Nodes[c].Kind == value.String {
			names.Insert(strings.Clone(d.Str(c)))
		}
	}
	return names
}

func finalizerWarnings(name string) (texts []string) {
	for _, msg := range validation.IsQualifiedName(name) {
		texts = append(texts, fmt.Sprintf("metadata.finalizers: %q: %s", name, msg))
	}
	switch {
	case strings.Contains(name, "/"), name == metav1.FinalizerOrphanDependents,
		name == metav1.FinalizerDeleteDependents, name == "kubernetes":
	case strings.Contains(name, "."):
		texts = append(texts, fmt.Sprintf("metadata.finalizers: %q: prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers", name))
	default:
		texts = append(texts, fmt.Sprintf("metadata.finalizers: %q: prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers", name))
	}
	return texts
}
