package plan

import (
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/value"
)

// Change is one field that a step removed or filled in, including everything below it.
type Change struct {
	// Path leads to the field. It owns its memory.
	Path value.Path
	// Text is upstream's text of the path, as in the warning unknown field "spec.jobs[0].extra".
	Text string
	// Node is the value in the Doc, removed values included.
	Node uint32
}

// shaper is one run of one step. The Doc's nodes move when defaults are grafted, so no pointer to one outlives a call.
type shaper struct {
	d       *value.Doc
	track   bool
	path    value.Path // set only while tracking
	depth   int        // bytes of the keys in path
	changes []Change
	slots   []uint32 // stack of member tables, for defaulting
	budget  budget   // for defaulting
	tracked lengths  // of the paths in changes
	err     error    // a bound was exceeded, and the tree is in an undefined state
}

func (s *shaper) enter(seg value.Segment) {
	if s.track {
		s.path = append(s.path, seg)
		s.depth += len(seg.Key())
	}
}

func (s *shaper) leave() {
	if s.track {
		last := len(s.path) - 1
		s.depth -= len(s.path[last].Key())
		s.path = s.path[:last]
	}
}

// record adds a change at a segment below the current path.
func (s *shaper) record(seg value.Segment, node uint32) {
	if s.track {
		s.tracked.steps, s.tracked.bytes = s.tracked.steps+len(s.path)+1, s.tracked.bytes+s.depth+len(seg.Key())
		if s.tracked.exceed() {
			s.err = s.tracked.exceeded()
			return
		}
		path := s.path.With(seg).Detach()
		s.changes = append(s.changes, Change{Path: path, Text: path.Dotted(), Node: node})
	}
}

// Prune removes unknown members. apiVersion, kind and metadata of the root stay. With track it returns upstream's
// unknown fields, sorted by Text; upstream does not report apiVersion, kind and metadata of a root that is not a
// resource. A schema that is not structural prunes nothing. The caller checks spec.preserveUnknownFields. The error is
// a *value.LimitError, and only with track; the Doc is unusable after it.
//
// Upstream: AE/apiserver/schema/pruning/algorithm.go, PruneWithOptions.
func (p *Plan) Prune(d *value.Doc, root uint32, track bool) ([]Change, error) {
	if p.HasSchema && !p.Structural {
		return nil, nil
	}
	s := shaper{d: d, track: track}
	s.prune(p.Root, root)
	if s.err != nil {
		return nil, s.err
	}
	if quirk.On(quirk.TopmostUnknownFieldOnly) {
		slices.SortStableFunc(s.changes, func(a, b Change) int { return strings.Compare(a.Text, b.Text) })
	}
	return s.changes, nil
}

// prune prunes node i with the schema n. Nil removes all members of objects.
func (s *shaper) prune(n *Node, i uint32) (dirty bool) {
	switch s.d.Nodes[i].Kind {
	case value.Array:
		var items *Node
		if n != nil {
			if items = n.Items; items == nil && n.Flags&KeepUnknown != 0 {
				return false
			}
		}
		k := 0
		for c := s.d.Nodes[i].First; c != 0 && s.err == nil; c = s.d.Nodes[c].Next {
			s.enter(value.At(k))
			dirty = s.prune(items, c) || dirty
			s.leave()
			k++
		}
	case value.Object:
		var prev, next uint32
		for c := s.d.Nodes[i].First; c != 0 && s.err == nil; c = next {
			next = s.d.Nodes[c].Next
			keep, changed := s.pruneMember(n, c)
			dirty = dirty || changed || !keep
			if keep {
				prev = c
			} else {
				s.d.Remove(i, prev, c)
			}
		}
	}
	if dirty {
		s.d.MarkDirty(i)
	}
	return dirty
}

// pruneMember prunes below one member and reports whether the member stays.
func (s *shaper) pruneMember(n *Node, c uint32) (keep, dirty bool) {
	key := s.d.Key(c)
	if n == nil {
		s.record(value.Entry(key), c)
		return false, false
	}
	if n.Flags&(Root|Embedded) != 0 && isMeta(key) {
		return true, false
	}
	if slot, declared := n.find(key); declared {
		if n.Flags&Preserve != 0 && !quirk.On(quirk.PreserveForOneLevel) {
			return true, false
		}
		s.enter(value.Name(key))
		dirty = s.prune(n.Props[slot], c)
		s.leave()
		return true, dirty
	}
	switch {
	case n.Additional != nil || n.Flags&(AdditionalTrue|AdditionalFalse) != 0:
		if n.Additional == nil && !quirk.On(quirk.AdditionalPropertiesTruePrunesBelow) {
			return true, false
		}
		s.enter(value.Entry(key))
		dirty = s.prune(n.Additional, c)
		s.leave()
		return true, dirty
	case n.Flags&KeepUnknown != 0:
		return true, false
	case len(n.Names) == 0 && n.Flags&(Root|Embedded) == 0 && !quirk.On(quirk.EmptyObjectSchemaPrunes):
		return true, false
	}
	if !isMeta(key) || len(s.path) > 0 {
		s.record(value.Name(key), c)
	}
	return false, false
}

// DropNulls removes null members whose schema is not nullable and has no default. Nulls in arrays stay. Upstream does
// not report them.
//
// Upstream: AE/apiserver/schema/defaulting, PruneNonNullableNullsWithoutDefaults.
func (p *Plan) DropNulls(d *value.Doc, root uint32) {
	if p.Structural {
		dropNulls(d, p.Root, root)
	}
}

func dropNulls(d *value.Doc, n *Node, i uint32) (dirty bool) {
	kind := d.Nodes[i].Kind
	if n == nil || kind != value.Array && kind != value.Object {
		return false
	}
	var prev, next uint32
	for c := d.Nodes[i].First; c != 0; c = next {
		next = d.Nodes[c].Next
		child := n.Items
		if kind == value.Object {
			child = n.Child(d.Key(c))
		}
		if d.Nodes[c].Kind == value.Null {
			inObject := kind == value.Object || !quirk.On(quirk.NullItemsKept)
			if inObject && child != nil && child.Flags&Nullable == 0 && child.Default == nil {
				d.Remove(i, prev, c)
				dirty = true
				continue
			}
		} else {
			dirty = dropNulls(d, child, c) || dirty
		}
		prev = c
	}
	if dirty {
		d.MarkDirty(i)
	}
	return dirty
}
