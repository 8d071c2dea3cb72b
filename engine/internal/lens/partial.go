package lens

import (
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/value"
)

// Server-side apply converts partial objects: the stored object without the fields that a manager applied last, which an
// API server then sets again or removes. A field that such an object gets from nothing, as a constant or a default, looks
// as if it was still set, and would never be removed. metadata.managedFields of the stored object tells partial objects
// apart: it lists fields that they lack.
//
// Upstream: structured-merge-diff merge/update.go, prune; apimachinery managedfields/internal/versionconverter.go.

// thirdField is a field of a version that takes part in a conversion only through the hub.
type thirdField struct {
	path path
	read int // the index of what it becomes in expression.reads; -1 for the field that the expression sets
}

// lookElsewhere finds the fields of third versions that managers may own instead of those of an expression.
func (c *compiler) lookElsewhere() {
	for _, b := range c.pairings {
		for _, other := range c.pairings {
			if other == b {
				continue
			}
			hub := slices.Index(other.between[:], c.set.hub)
			for _, r := range b.rules {
				for _, x := range r.writes {
					fields := []thirdField{{x.to, -1}}
					if b.between[x.side] != c.set.hub {
						fields = nil
						for k, read := range x.reads {
							fields = append(fields, thirdField{append(slices.Clone(x.self), read.Path...), k})
						}
					}
					for _, f := range fields {
						if f.path = other.counterpartOf(hub, f.path); f.path != nil {
							if x.elsewhere == nil {
								x.elsewhere = map[string][]thirdField{}
							}
							third := other.sides[1-hub].APIVersion
							x.elsewhere[third] = append(x.elsewhere[third], f)
						}
					}
				}
			}
		}
	}
}

// determined reports whether an object is known to have what an expression reads, although some of it is absent, or
// although the result depends on all items of something.
func (x *expression) determined(r *run, item uint32, absent bool) bool {
	d := r.d
	fields := d.Field(d.Field(r.root, "metadata"), "managedFields")
	if d.Nodes[fields].Kind != value.Array || d.Len(fields) == 0 {
		return false // a partial object, or one whose managers are unknown
	}
	for entry := d.Nodes[fields].First; entry != 0; entry = d.Nodes[entry].Next {
		version, listed := d.Field(entry, "apiVersion"), d.Field(entry, "fieldsV1")
		if d.Nodes[version].Kind != value.String {
			continue
		}
		switch d.Str(version) {
		case r.from:
			for _, read := range x.reads {
				if r.lacks(r.root, listed, append(slices.Clone(x.self), read.Path...)) {
					return false
				}
			}
		case r.to:
			if absent && lists(d, listed, x.to) {
				return false
			}
		default:
			for _, f := range x.elsewhere[d.Str(version)] {
				present := f.read >= 0 && exists(d, item, x.reads[f.read].Path)
				if absent && !present && lists(d, listed, f.path) {
					return false
				}
			}
		}
	}
	return true
}

// exists reports whether a path exists below a value, up to its first step to each item.
func exists(d *value.Doc, i uint32, p path) bool {
	for _, name := range p {
		if name == each {
			return true
		}
		if i = d.Field(i, name); i == 0 {
			return false
		}
	}
	return true
}

// lists reports whether fields of managedFields contain a path, up to its first step to each item.
func lists(d *value.Doc, fields uint32, p path) bool {
	for _, name := range p {
		if name == each {
			return true
		}
		if fields = d.Field(fields, "f:"+name); fields == 0 {
			return false
		}
	}
	return true
}

// lacks reports whether fields of managedFields contain a field at or below a path that an object does not have. Below
// the first step to each item, it looks at all items.
func (r *run) lacks(i, fields uint32, p path) bool {
	d := r.d
	for _, name := range p {
		if name == each {
			break
		}
		if fields = d.Field(fields, "f:"+name); fields == 0 {
			return false
		}
		if i = d.Field(i, name); i == 0 {
			return true
		}
	}
	return r.lacksBelow(i, fields)
}

// maxLooks bounds the search for items of lists. A larger object counts as partial.
const maxLooks = 1 << 20

func (r *run) lacksBelow(i, fields uint32) bool {
	d := r.d
	for c := d.Nodes[fields].First; c != 0; c = d.Nodes[c].Next {
		kind, name, found := strings.Cut(d.Key(c), ":")
		if !found {
			continue // "." stands for the value itself
		}
		below := uint32(0)
		switch kind {
		case "f":
			below = d.Field(i, name)
		case "k", "v":
			if r.looks += d.Len(i); r.looks > maxLooks {
				return true
			}
			below = itemOf(d, i, name, kind == "v")
		case "i":
			continue // items of atomic lists have no entries
		}
		if below == 0 || r.lacksBelow(below, c) {
			return true
		}
	}
	return false
}

// itemOf returns the item of a list with the given keys, or with the given value.
func itemOf(d *value.Doc, list uint32, text string, isValue bool) uint32 {
	want, err := d.Parse([]byte(text), value.Arena, value.Limits{MaxBytes: max(len(text), 1)})
	if err != nil || d.Nodes[list].Kind != value.Array {
		return 0
	}
	for c := d.Nodes[list].First; c != 0; c = d.Nodes[c].Next {
		if isValue && value.Equal(d, c, d, want) || !isValue && hasKeys(d, c, want) {
			return c
		}
	}
	return 0
}

func hasKeys(d *value.Doc, item, keys uint32) bool {
	for k := d.Nodes[keys].First; k != 0; k = d.Nodes[k].Next {
		if c := d.Field(item, d.Key(k)); c == 0 || !value.Equal(d, c, d, k) {
			return false
		}
	}
	return true
}
