package lens

import (
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Server-side apply converts partial objects: the stored object without the fields that a manager applied last. The
// API server then sets these fields again, or removes them. If a conversion added a constant or a default to a partial
// object, the API server could never remove that field. In a partial object, metadata.managedFields lists fields that
// the object lacks.
//
// Upstream: structured-merge-diff merge/update.go, prune; apimachinery managedfields/internal/versionconverter.go.

// thirdField is a field of a version that takes part in a conversion only through the hub.
type thirdField struct {
	path path
	read int // the index in expression.reads of what it is converted to; -1 for the field that the expression sets
}

// lookElsewhere sets expression.elsewhere. Managers can own these fields instead of those of the expression.
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
							third := other.sides[1-hub].APIVersion
							x.elsewhere[third] = append(x.elsewhere[third], f)
						}
					}
				}
			}
		}
	}
}

// determined reports whether managedFields show that an object has everything that an expression reads. absent is set
// if the object lacks a field that the expression reads.
func (x *expression) determined(r *run, item uint32, absent bool) bool {
	d := r.d
	fields := d.Field(d.Field(r.root, "metadata"), "managedFields")
	if d.Nodes[fields].Kind != tree.Array || d.Len(fields) == 0 {
		return false // a partial object, or one whose managers are unknown
	}
	for entry := d.Nodes[fields].First; entry != 0; entry = d.Nodes[entry].Next {
		version, listed := d.Field(entry, "apiVersion"), d.Field(entry, "fieldsV1")
		if d.Nodes[version].Kind != tree.String {
			continue
		}
		switch d.Str(version) {
		case r.conversion.from.APIVersion:
			for _, read := range x.reads {
				if r.lacks(append(slices.Clone(x.self), read.Path...)) {
					return false
				}
			}
		case r.conversion.to.APIVersion:
			if absent && exists(d, listed, x.to, "f:") {
				return false
			}
		default:
			for _, f := range x.elsewhere[d.Str(version)] {
				present := f.read >= 0 && exists(d, item, x.reads[f.read].Path, "")
				if absent && !present && exists(d, listed, f.path, "f:") {
					return false
				}
			}
		}
	}
	return true
}

// exists reports whether a path exists below a value, up to its first step to each item. The names of members are those
// of the path after a prefix: "f:" in managedFields.
func exists(d *tree.Doc, i uint32, p path, prefix string) bool {
	for _, name := range p {
		if name == each {
			return true
		}
		if i = d.Field(i, prefix+name); i == 0 {
			return false
		}
	}
	return true
}

// lack is a tree of the fields that the object lacks, although managedFields list them at its version. Items of lists
// share a node.
type lack struct {
	missing bool
	below   map[string]*lack
}

// lacks reports whether the object lacks a field at or below a path.
func (r *run) lacks(p path) bool {
	if r.lack == nil {
		r.lack = &lack{}
		d := r.d
		fields := d.Field(d.Field(r.root, "metadata"), "managedFields")
		find := d.Finder()
		for entry := d.Nodes[fields].First; entry != 0; entry = d.Nodes[entry].Next {
			if v := d.Field(entry, "apiVersion"); d.Nodes[v].Kind == tree.String && d.Str(v) == r.conversion.from.APIVersion {
				r.lack.add(d, find, r.root, d.Field(entry, "fieldsV1"))
			}
		}
	}
	l := r.lack
	for _, name := range p {
		if l = l.below[name]; l == nil || l.missing {
			break
		}
	}
	return l != nil && (l.missing || len(l.below) > 0)
}

// add adds the fields of an entry that the value lacks. It takes linear time.
func (l *lack) add(d *tree.Doc, find *tree.Finder, i, fields uint32) {
	var items map[string]uint32
	for c := d.Nodes[fields].First; c != 0; c = d.Nodes[c].Next {
		kind, name, found := strings.Cut(d.Key(c), ":")
		if !found {
			continue // "." stands for the value itself
		}
		var below uint32
		step := name
		switch kind {
		case "f":
			below = find.Field(i, name)
		case "k", "v":
			step = each
			want, err := d.Parse([]byte(name), tree.Arena, tree.Limits{MaxBytes: max(len(name), 1)})
			if err != nil {
				continue
			}
			if items == nil {
				items = itemsOf(d, i, want, kind == "v")
			}
			below = items[string(d.AppendCanonical(nil, want))]
		default:
			continue // items of atomic lists have no entries
		}
		if l.below == nil {
			l.below = map[string]*lack{}
		}
		child := l.below[step]
		if child == nil {
			child = &lack{}
		}
		if below == 0 {
			child.missing = true
		} else {
			child.add(d, find, below, c)
		}
		if child.missing || len(child.below) > 0 {
			l.below[step] = child
		}
	}
}

// itemsOf returns the items of a list by their values, or by the values of the fields in keys, as canonical JSON.
func itemsOf(d *tree.Doc, list, keys uint32, byValue bool) map[string]uint32 {
	items := make(map[string]uint32, d.Len(list))
	if d.Nodes[list].Kind != tree.Array {
		return items
	}
	var names []string
	for k := d.Nodes[keys].First; k != 0; k = d.Nodes[k].Next {
		names = append(names, d.Key(k))
	}
	slices.Sort(names)
	for c := d.Nodes[list].First; c != 0; c = d.Nodes[c].Next {
		if byValue {
			items[string(d.AppendCanonical(nil, c))] = c
			continue
		}
		text := []byte{'{'}
		for n, name := range names {
			if n > 0 {
				text = append(text, ',')
			}
			text = append(tree.AppendCanonicalString(text, name), ':')
			text = d.AppendCanonical(text, d.Field(c, name)) // null without it
		}
		items[string(append(text, '}'))] = c
	}
	return items
}
