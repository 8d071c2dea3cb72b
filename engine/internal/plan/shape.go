package plan

import (
	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// shaper is one run of one step. The Doc's nodes move when defaults are grafted, so no pointer to one outlives a call.
type shaper struct {
	changer
	slots []uint32 // stack of member tables, for defaulting
}

func newShaper(d *tree.Doc, track bool) shaper {
	s := shaper{changer: changer{d: d}}
	if track {
		s.edits = &Edits{d: d, stack: make([]uint32, 0, usualDepth)}
	}
	return s
}

// changes returns the changes of a run, or the error of the bound that it exceeds.
func (s *shaper) changes(p *Plan) (pruned, defaulted []Change, err error) {
	if s.budget.left < 0 {
		return nil, nil, s.budget.exceeded("send fewer elements in one document, or shorten the defaults of the CRD")
	}
	if s.edits == nil || len(s.edits.List) == 0 {
		return nil, nil, nil
	}
	if err := s.edits.fit(); err != nil {
		return nil, nil, err
	}
	pruned, defaulted = p.Changes(s.d, s.edits)
	return pruned, defaulted, nil
}

// Prune removes unknown members. apiVersion, kind and metadata of the root stay. With track it returns upstream's
// unknown fields, sorted by Text; upstream does not report apiVersion, kind and metadata of a root that is not a
// resource. A schema that is not structural prunes nothing. The caller checks spec.preserveUnknownFields. The error is
// a *tree.LimitError, and only with track; the Doc is unusable after it.
//
// Upstream: AE/apiserver/schema/pruning/algorithm.go, PruneWithOptions.
func (p *Plan) Prune(d *tree.Doc, root uint32, track bool) ([]Change, error) {
	if p.HasSchema && !p.Structural {
		return nil, nil
	}
	s := newShaper(d, track)
	s.prune(p.Root, root, true)
	pruned, _, err := s.changes(p)
	return pruned, err
}

// prune prunes node i with the schema n. Nil empties it. top is set for the root.
func (s *shaper) prune(n *Node, i uint32, top bool) (dirty bool) {
	if n == nil {
		return s.empty(i)
	}
	s.edits.enter(i)
	defer s.edits.leave()
	switch s.d.Nodes[i].Kind {
	case tree.Array:
		if n.Items == nil && n.Flags&KeepUnknown != 0 {
			return false
		}
		for c := s.d.Nodes[i].First; c != 0 && !s.doubt; c = s.d.Nodes[c].Next {
			dirty = s.prune(n.Items, c, false) || dirty
		}
	case tree.Object:
		var prev, next uint32
		after := uint16(0)
		for c := s.d.Nodes[i].First; c != 0 && !s.doubt; c = next {
			next = s.d.Nodes[c].Next
			keep, changed := s.pruneMember(n, i, c, &after, top)
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
func (s *shaper) pruneMember(n *Node, i, c uint32, after *uint16, top bool) (keep, dirty bool) {
	key := s.d.Key(c)
	if n.Flags&(Root|Embedded) != 0 && isMeta(key) {
		return true, false
	}
	if slot, declared := n.slotAfter(s.d, after, key); declared {
		if n.Flags&Preserve != 0 && !quirk.On(quirk.PreserveForOneLevel) {
			return true, false
		}
		return true, s.prune(n.Props[slot], c, false)
	}
	if n.Additional != nil {
		return true, s.prune(n.Additional, c, false)
	}
	switch n.unknown(key) {
	case kept:
		return true, false
	case emptied:
		return true, s.empty(c)
	}
	if !isMeta(key) || !top {
		s.record(Pruned, i, c)
	}
	return false, false
}

// DropNulls removes null members whose schema is not nullable and has no default. Nulls in arrays stay. Upstream does
// not report them. With track it returns them. The error is a *tree.LimitError, and only with track; the Doc is unusable
// after it.
//
// Upstream: AE/apiserver/schema/defaulting, PruneNonNullableNullsWithoutDefaults.
func (p *Plan) DropNulls(d *tree.Doc, root uint32, track bool) ([]Change, error) {
	if !p.Structural {
		return nil, nil
	}
	s := newShaper(d, track)
	s.dropNulls(p.Root, root)
	dropped, _, err := s.changes(p)
	return dropped, err
}

func (s *shaper) dropNulls(n *Node, i uint32) (dirty bool) {
	d := s.d
	kind := d.Nodes[i].Kind
	if n == nil || kind != tree.Array && kind != tree.Object {
		return false
	}
	s.edits.enter(i)
	defer s.edits.leave()
	var prev, next uint32
	after := uint16(0)
	for c := d.Nodes[i].First; c != 0 && !s.doubt; c = next {
		next = d.Nodes[c].Next
		child := n.Items
		if kind == tree.Object {
			child = n.child(n.slotAfter(d, &after, d.Key(c)))
		}
		if d.Nodes[c].Kind == tree.Null {
			inObject := kind == tree.Object || !quirk.On(quirk.NullItemsKept)
			if inObject && child != nil && child.null() == removed {
				s.record(Pruned, i, c)
				d.Remove(i, prev, c)
				dirty = true
				continue
			}
		} else {
			dirty = s.dropNulls(child, c) || dirty
		}
		prev = c
	}
	if dirty {
		d.MarkDirty(i)
	}
	return dirty
}

// Default fills in defaults: absent properties in schema order, and non-nullable nulls of properties, map values and
// items. It descends into existing and filled-in values, but creates no object to fill it. With track it returns what
// it filled in, in document order. The error is a *tree.LimitError about the bytes that l allows, or about the length
// of what is tracked; the Doc is unusable after it.
//
// Upstream: AE/apiserver/schema/defaulting, Default.
func (p *Plan) Default(d *tree.Doc, root uint32, track bool, l tree.Limits) ([]Change, error) {
	if !p.Structural || p.Root.Flags&DefaultsBelow == 0 {
		return nil, nil
	}
	d.SetSource(tree.Defaults, p.defaults)
	s := newShaper(d, track)
	s.budget = newBudget(l.WithDefaults().MaxDefaultBytes)
	s.fill(p.Root, root)
	_, defaulted, err := s.changes(p)
	return defaulted, err
}

func (s *shaper) fill(n *Node, i uint32) (dirty bool) {
	if n == nil || n.Flags&DefaultsBelow == 0 {
		return false
	}
	s.edits.enter(i)
	defer s.edits.leave()
	switch s.d.Nodes[i].Kind {
	case tree.Array:
		for c := s.d.Nodes[i].First; c != 0 && !s.doubt; c = s.d.Nodes[c].Next {
			dirty = s.fillValue(n.Items, i, c) || dirty
		}
	case tree.Object:
		dirty = s.fillObject(n, i)
	}
	if dirty {
		s.d.MarkDirty(i)
	}
	return dirty
}

// fillObject fills existing members, then adds missing ones.
func (s *shaper) fillObject(n *Node, i uint32) (dirty bool) {
	base := len(s.slots)
	s.slots = grow(s.slots, len(n.Props))
	last, after := uint32(0), uint16(0)
	for c := s.d.Nodes[i].First; c != 0 && !s.doubt; c = s.d.Nodes[c].Next {
		last = c
		if slot, declared := n.slotAfter(s.d, &after, s.d.Key(c)); declared {
			s.slots[base+slot] = c
			dirty = s.fillValue(n.Props[slot], i, c) || dirty
		} else if n.Additional != nil && (quirk.On(quirk.MapValueDefaultsForNullOnly) ||
			s.d.Nodes[c].Kind != tree.Null) {
			dirty = s.fillValue(n.Additional, i, c) || dirty
		}
	}
	for slot, child := range n.Props {
		if child.Default == nil || s.slots[base+slot] != 0 {
			continue
		}
		added := s.add(n, uint16(slot), i, last)
		if added == 0 {
			return dirty
		}
		last, dirty = added, true
	}
	s.slots = s.slots[:base]
	return dirty
}

// fillValue replaces a non-nullable null in parent by its default, or fills in what is below the value.
func (s *shaper) fillValue(n *Node, parent, c uint32) (dirty bool) {
	if n == nil {
		return false
	}
	if s.d.Nodes[c].Kind == tree.Null {
		if n.null() != defaulted {
			return false
		}
		s.replace(n, parent, c)
		return true
	}
	if !quirk.On(quirk.DefaultsNeedParent) && s.d.Nodes[parent].Kind == tree.Array {
		return false
	}
	return s.fill(n, c)
}
