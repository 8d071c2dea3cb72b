package admission

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crdeval/crdeval/engine/value"
)

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
