package lens

import (
	"slices"

	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/value"
)

// required says which fields the objects of a schema must have. Server-side apply converts partial objects, which may
// lack some: see run.complete.
type required struct {
	names []string
	below map[string]*required
	each  *required
}

// requiredOf returns nil if nothing is required in a schema or below it.
func requiredOf(s *schema.Props) *required {
	r := &required{names: slices.Clone(s.Required)}
	for _, name := range schema.Names(s.Properties) {
		if below := requiredOf(step(s, name)); below != nil {
			if r.below == nil {
				r.below = map[string]*required{}
			}
			r.below[name] = below
		}
	}
	if items := step(s, each); items != nil {
		r.each = requiredOf(items)
	}
	if len(r.names) == 0 && r.below == nil && r.each == nil {
		return nil
	}
	return r
}

// complete reports whether a value has all required fields, itself and below.
func (r *required) complete(d *value.Doc, i uint32) bool {
	if r == nil {
		return true
	}
	n := &d.Nodes[i]
	if n.Kind == value.Object {
		for _, name := range r.names {
			if d.Field(i, name) == 0 {
				return false
			}
		}
	}
	if n.Kind != value.Object && n.Kind != value.Array || r.each == nil && r.below == nil {
		return true
	}
	for c := n.First; c != 0; c = d.Nodes[c].Next {
		below := r.each
		if below == nil {
			below = r.below[d.Key(c)]
		}
		if !below.complete(d, c) {
			return false
		}
	}
	return true
}
