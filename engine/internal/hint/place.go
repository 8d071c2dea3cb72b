package hint

import (
	"iter"
	"math/bits"
	"slices"

	"github.com/crdeval/crdeval/engine/internal/program"
	"github.com/crdeval/crdeval/engine/value"
)

// place is what is known of the values at a path: a node of the schema, or, within the metadata of a resource, a part of ObjectMeta. The zero
// place is one of which nothing is known.
type place struct {
	node *program.Node
	meta *metaType
}

// metaType is a part of ObjectMeta: the fields of an object, or what the elements of a list are.
type metaType struct {
	fields []string // in the order of the alphabet
	below  map[string]*metaType
	items  *metaType
}

// The fields of metadata (apimachinery, meta/v1 types.go). Maps such as labels have no fields of their own.
var (
	objectMeta = &metaType{
		fields: []string{
			"annotations", "creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "finalizers", "generateName", "generation", "labels",
			"managedFields", "name", "namespace", "ownerReferences", "resourceVersion", "selfLink", "uid",
		},
		below: map[string]*metaType{"ownerReferences": {items: ownerReference}, "managedFields": {items: managedFields}},
	}
	ownerReference = &metaType{fields: []string{"apiVersion", "blockOwnerDeletion", "controller", "kind", "name", "uid"}}
	managedFields  = &metaType{fields: []string{"apiVersion", "fieldsType", "fieldsV1", "manager", "operation", "subresource", "time"}}
)

// resourceFields are those of every resource, whatever its schema declares.
var resourceFields = []string{"apiVersion", "kind", "metadata"}

func (f *Finder) top() place { return place{node: f.plan.Root} }

// to is the place at a path.
func (f *Finder) to(path value.Path) place {
	p := f.top()
	for _, s := range path {
		p = p.step(s)
	}
	return p
}

func (p place) step(s value.Segment) place {
	if s.IsIndex() {
		return p.item()
	}
	return p.child(s.Key())
}

func (p place) isResource() bool {
	return p.node != nil && (p.node.Has(program.Root) || p.node.Has(program.Embedded))
}

func (p place) child(name string) place {
	switch {
	case p.meta != nil:
		return place{meta: p.meta.below[name]}
	case p.isResource() && name == "metadata":
		return place{meta: objectMeta}
	case p.node == nil:
		return place{}
	}
	return place{node: p.node.Child(name)}
}

func (p place) item() place {
	switch {
	case p.meta != nil:
		return place{meta: p.meta.items}
	case p.node == nil:
		return place{}
	}
	return place{node: p.node.Items}
}

// declares reports whether it has a field of the name.
func (p place) declares(name string) bool {
	switch {
	case p.meta != nil:
		_, found := slices.BinarySearch(p.meta.fields, name)
		return found
	case p.node == nil:
		return false
	}
	_, found := slices.BinarySearch(p.node.Names, name)
	return found || p.isResource() && slices.Contains(resourceFields, name)
}

// fields are the names that it declares.
func (p place) fields() []string {
	switch {
	case p.meta != nil:
		return p.meta.fields
	case p.node == nil:
		return nil
	case !p.isResource():
		return p.node.Names
	}
	all := slices.Concat(resourceFields, p.node.Names)
	slices.Sort(all)
	return slices.Compact(all)
}

// children are the places of the fields that it declares, with their names.
func (p place) children() iter.Seq2[place, string] {
	return func(yield func(place, string) bool) {
		direct := p.node != nil && p.meta == nil && !p.isResource()
		for i, name := range p.fields() {
			child := place{}
			if direct {
				child.node = p.node.Props[i]
			} else {
				child = p.child(name)
			}
			if !yield(child, name) {
				return
			}
		}
	}
}

// lookup is how much work it is to find a name in it and in its items.
func (p place) lookup() (steps int) {
	for _, one := range []place{p, p.item()} {
		if one.node != nil {
			steps += bits.Len(uint(len(one.node.Names)))
		}
	}
	return steps
}

// wants are the types that values may have there, none if any will do.
func (p place) wants() []string {
	switch {
	case p.meta != nil && p.meta.items != nil:
		return []string{"array"}
	case p.node == nil:
		return nil
	}
	return p.node.Types()
}
