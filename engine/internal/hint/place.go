package hint

import (
	"iter"
	"math/bits"
	"slices"

	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/spelling"
	"github.com/crdeval/crdeval/internal/value"
)

// place is what is known of the values at a path: a node of the schema, or, within the metadata of a resource, a part of ObjectMeta. The zero
// place is one of which nothing is known.
type place struct {
	node *plan.Node
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
	return p.node != nil && (p.node.Has(plan.Root) || p.node.Has(plan.Embedded))
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

// names are those of its fields in the order of the alphabet, without those that every resource has, and the index of them, if there is one.
func (p place) names() ([]string, *spelling.Index) {
	switch {
	case p.meta != nil:
		return p.meta.fields, nil
	case p.node == nil:
		return nil, nil
	}
	return p.node.Names, p.node.Spelling()
}

// holders are the places of the fields that have fields of their own, or whose items have some, with their names in the order of the alphabet.
func (p place) holders() iter.Seq2[place, string] {
	return func(yield func(place, string) bool) {
		switch {
		case p.meta != nil:
			for _, name := range p.meta.fields {
				if below := p.meta.below[name]; below != nil && !yield(place{meta: below}, name) {
					return
				}
			}
			return
		case p.node == nil:
			return
		}
		const metadata = "metadata" // of a resource it is none of the schema's
		waiting := p.isResource()
		for slot := range p.node.Holders {
			name := p.node.Names[slot]
			if waiting && name >= metadata {
				if waiting = false; !yield(place{meta: objectMeta}, metadata) {
					return
				}
			}
			if name == metadata && p.isResource() {
				continue
			}
			if !yield(place{node: p.node.Props[slot]}, name) {
				return
			}
		}
		if waiting {
			yield(place{meta: objectMeta}, metadata)
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
