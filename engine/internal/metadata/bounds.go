package metadata

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// apimachinery validates metadata that is not plainly valid, and has no deadline: its time for owners grows with the
// square of their number, and any other entry takes some ten microseconds. Metadata beyond these bounds is not
// validated. Upstream has no such bounds and takes minutes.
const (
	maxOwners  = 1_000
	maxEntries = 10_000 // labels, annotations, finalizers or managed fields
)

// Fits checks the bounds of the metadata at a node, or 0. The error is a *tree.LimitError.
func Fits(d *tree.Doc, meta uint32) error {
	if meta == 0 || d.Nodes[meta].Kind != tree.Object {
		return nil
	}
	for c := d.Nodes[meta].First; c != 0; c = d.Nodes[c].Next {
		if err := fits(d.Key(c), d.Len(c)); err != nil {
			return err
		}
	}
	return nil
}

// FitsMeta is Fits for decoded metadata.
func FitsMeta(m *metav1.ObjectMeta) error {
	for _, part := range [...]struct {
		name  string
		count int
	}{
		{"labels", len(m.Labels)}, {"annotations", len(m.Annotations)}, {"ownerReferences", len(m.OwnerReferences)},
		{"finalizers", len(m.Finalizers)}, {"managedFields", len(m.ManagedFields)},
	} {
		if err := fits(part.name, part.count); err != nil {
			return err
		}
	}
	return nil
}

func fits(name string, count int) error {
	most := maxEntries
	switch name {
	case "ownerReferences":
		most = maxOwners
	case "labels", "annotations", "finalizers", "managedFields":
	default:
		return nil
	}
	if count <= most {
		return nil
	}
	return &tree.LimitError{
		Name: "max_metadata_entries", Limit: "size of metadata." + name, Unit: "entries", Maximum: int64(most),
		Actual: int64(count), Advice: "remove entries that are not needed, or correct them",
	}
}
