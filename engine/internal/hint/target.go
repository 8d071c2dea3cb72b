package hint

import (
	"iter"
	"math/bits"
	"slices"

	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/value"
)

// target describes the values at a path: by a node of the schema or, within the metadata of a resource, by a part of
// ObjectMeta. Nothing is known about the values of the zero target.
type target struct {
	node *plan.Node
	meta *metaType
}

// metaType is a part of ObjectMeta: an object with fields, or a list with items.
type metaType struct {
	fields []string // sorted
	below  map[string]*metaType
	items  *metaType
}

// The fields of metadata (apimachinery, meta/v1 types.go). Maps such as labels have no fields of their own.
var (
	objectMeta = &metaType{
		fields: []string{
			"annotations", "creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "finalizers",
			"generateName", "generation", "labels", "managedFields", "name", "namespace", "ownerReferences",
			"resourceVersion", "selfLink", "uid",
		},
		below: map[string]*metaType{"ownerReferences": {items: ownerReference}, "managedFields": {items: managedFields}},
	}
	ownerReference = &metaType{fields: []string{"apiVersion", "blockOwnerDeletion", "controller", "kind", "name", "uid"}}
	managedFields  = &metaType{
		fields: []string{"apiVersion", "fieldsType", "fieldsV1", "manager", "operation", "subresource", "time"},
	}
)

// resourceFields are the fields of every resource, whatever its schema declares.
var resourceFields = []string{"apiVersion", "kind", "metadata"}

// target returns the target at a path.
func (f *Finder) target(path value.Path) target {
	t := target{node: f.plan.Root}
	for _, s := range path {
		if s.IsIndex() {
			t = t.item()
		} else {
			t = t.child(s.Key())
		}
	}
	return t
}

func (t target) isResource() bool {
	return t.node != nil && (t.node.Has(plan.Root) || t.node.Has(plan.Embedded))
}

func (t target) child(name string) target {
	switch {
	case t.meta != nil:
		return target{meta: t.meta.below[name]}
	case t.isResource() && name == "metadata":
		return target{meta: objectMeta}
	case t.node == nil:
		return target{}
	}
	return target{node: t.node.Child(name)}
}

func (t target) item() target {
	switch {
	case t.meta != nil:
		return target{meta: t.meta.items}
	case t.node == nil:
		return target{}
	}
	return target{node: t.node.Items}
}

// declares reports whether the target has a field of the name.
func (t target) declares(name string) bool {
	_, found := slices.BinarySearch(t.names(), name)
	return found || t.isResource() && slices.Contains(resourceFields, name)
}

// names returns the sorted names of the fields, without resourceFields.
func (t target) names() []string {
	switch {
	case t.meta != nil:
		return t.meta.fields
	case t.node == nil:
		return nil
	}
	return t.node.Names
}

// holders yields the fields that have fields of their own, or whose items have some, sorted by name.
func (t target) holders() iter.Seq2[target, string] {
	return func(yield func(target, string) bool) {
		switch {
		case t.meta != nil:
			for _, name := range t.meta.fields {
				if below := t.meta.below[name]; below != nil && !yield(target{meta: below}, name) {
					return
				}
			}
			return
		case t.node == nil:
			return
		}
		const metadata = "metadata" // what the schema of a resource declares for it does not count
		pending := t.isResource()
		for slot := range t.node.Holders {
			name := t.node.Names[slot]
			if pending && name >= metadata {
				if pending = false; !yield(target{meta: objectMeta}, metadata) {
					return
				}
			}
			if name == metadata && t.isResource() {
				continue
			}
			if !yield(target{node: t.node.Props[slot]}, name) {
				return
			}
		}
		if pending {
			yield(target{meta: objectMeta}, metadata)
		}
	}
}

// lookup returns the work of calling declares for the target and for its items.
func (t target) lookup() int {
	return bits.Len(uint(len(t.names()))) + bits.Len(uint(len(t.item().names())))
}

// types returns the types that values may have, nil if any type is valid.
func (t target) types() []string {
	switch {
	case t.meta != nil && t.meta.items != nil:
		return []string{"array"}
	case t.node == nil:
		return nil
	}
	return t.node.Types()
}
