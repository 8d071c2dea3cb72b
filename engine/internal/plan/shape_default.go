package plan

import (
	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/value"
)

// Default fills in defaults: absent properties in schema order, and non-nullable nulls of properties, map values and
// items. It descends into existing and filled-in values, but creates no object to fill it. With track it returns what
// it filled in, in document order. The error is a *value.LimitError about the bytes that l allows, or about the length
// of what is tracked; the Doc is unusable after it.
//
// Upstream: AE/apiserver/schema/defaulting, Default.
func (p *Plan) Default(d *value.Doc, root uint32, track bool, l value.Limits) ([]Change, error) {
	if !p.Structural || p.Root.Flags&DefaultsBelow == 0 {
		return nil, nil
	}
	d.SetSource(value.Defaults, p.defaults)
	s := shaper{d: d, track: track, budget: newBudget(l.DefaultBytes())}
	if s.fill(p.Root, root); s.err != nil {
		return nil, s.err
	}
	return s.changes, nil
}

func (s *shaper) fill(n *Node, i uint32) (dirty bool) {
	if n == nil || n.Flags&DefaultsBelow == 0 {
		return false
	}
	switch s.d.Nodes[i].Kind {
	case value.Array:
		k := 0
		for c := s.d.Nodes[i].First; c != 0 && s.err == nil; c = s.d.Nodes[c].Next {
			dirty = s.fillValue(n.Items, c, value.At(k)) || dirty
			k++
		}
	case value.Object:
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
	for range n.Props {
		s.slots = append(s.slots, 0)
	}
	last := uint32(0)
	for c := s.d.Nodes[i].First; c != 0 && s.err == nil; c = s.d.Nodes[c].Next {
		last = c
		key := s.d.Key(c)
		if slot, declared := n.find(key); declared {
			s.slots[base+slot] = c
			dirty = s.fillValue(n.Props[slot], c, value.Name(key)) || dirty
		} else if n.Additional != nil && (quirk.On(quirk.MapValueDefaultsForNullOnly) ||
			s.d.Nodes[c].Kind != value.Null) {
			dirty = s.fillValue(n.Additional, c, value.Entry(key)) || dirty
		}
	}
	for slot, child := range n.Props {
		if child.Default == nil || s.slots[base+slot] != 0 {
			continue
		}
		name := n.Names[slot]
		if !s.grafts(name, child.Default) {
			return dirty
		}
		added := s.d.Graft(child.Default.Fragment)
		if s.d.Key(added) != name {
			s.d.SetKey(added, name)
		}
		s.d.InsertAfter(i, last, added)
		last, dirty = added, true
		s.record(value.Name(name), added)
	}
	s.slots = s.slots[:base]
	return dirty
}

// fillValue replaces a non-nullable null by its default, or fills in what is below the value.
func (s *shaper) fillValue(n *Node, c uint32, seg value.Segment) (dirty bool) {
	if n == nil {
		return false
	}
	if s.d.Nodes[c].Kind == value.Null {
		if n.Default == nil || n.Flags&Nullable != 0 && quirk.On(quirk.NullDroppedOrDefaulted) {
			return false
		}
		if !s.grafts("", n.Default) {
			return false
		}
		s.d.Replace(c, s.d.Graft(n.Default.Fragment))
		s.record(seg, c)
		return true
	}
	if !quirk.On(quirk.DefaultsNeedParent) && seg.IsIndex() {
		return false
	}
	s.enter(seg)
	dirty = s.fill(n, c)
	s.leave()
	return dirty
}

// grafts reports whether the budget allows a default under a name.
func (s *shaper) grafts(name string, def *Default) bool {
	if s.err == nil && !s.budget.take(name, def.Fragment) {
		s.err = s.budget.exceeded("send fewer elements in one document, or shorten the defaults of the CRD")
	}
	return s.err == nil
}
