package closure

import (
	"slices"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// place is the node that an attribute leads to.
type place struct {
	node, cost uint32     // the slot of the variable in the frame's nodes
	members    [2]*Member // the first steps, as long as they lead to declared members with slots
	rest       *route     // nil: there are no further steps
}

// route is what few places have: another start than a variable, and further steps from node to node of known types.
type route struct {
	base  nodeFn // nil: the node that is reached
	steps []step
}

// nodePlace compiles an attribute whose steps all lead from node to node of known types. It returns nil for others.
func (c *compiler) nodePlace(a *attr, cost uint64) (*place, *Type) {
	p, t, w := &place{node: uint32(a.node), cost: uint32(cost)}, a.typ, route{steps: a.steps}
	for i := range a.steps {
		if a.steps[i].from == nil {
			return nil, nil
		}
		t = a.steps[i].to
	}
	if a.base != nil {
		if w.base = a.base.n; w.base == nil {
			return nil, nil
		}
	}
	for k := range p.members {
		if w.base == nil && len(w.steps) > 0 && w.steps[0].member != nil {
			p.members[k], w.steps = w.steps[0].member, w.steps[1:]
		}
	}
	if w.base != nil || len(w.steps) > 0 {
		p.rest = &route{w.base, slices.Clone(w.steps)}
	}
	return p, t
}

// find returns the node. It is false where upstream has an error.
func (p *place) find(f *Frame) (i uint32, ok bool) {
	i = f.nodes[p.node]
	f.Cost += uint64(p.cost)
	for _, m := range p.members {
		if m == nil {
			break
		}
		if i = f.member(i, m); i == 0 {
			return 0, false
		}
	}
	if p.rest != nil {
		return p.rest.find(f, i)
	}
	return i, true
}

func (w *route) find(f *Frame, i uint32) (_ uint32, ok bool) {
	if w.base != nil {
		if i, ok = w.base(f); !ok {
			return 0, false
		}
	}
	for k := range w.steps {
		if i, ok = f.next(i, &w.steps[k]); !ok || i == 0 {
			return 0, false
		}
	}
	return i, true
}

// member returns a declared member of an object by its slot. It is 0 if the member is absent or null or the node is not
// an object.
func (f *Frame) member(object uint32, m *Member) uint32 {
	d := f.Doc
	n := &d.Nodes[object]
	if n.Kind != tree.Object {
		return 0
	}
	var i uint32
	if n.Flags&tree.Slotted != 0 {
		i = d.Slots[n.Val+uint64(m.Slot)]
	} else {
		i = d.Field(object, m.Name)
	}
	if d.Nodes[i].Kind == tree.Null {
		return 0
	}
	return i
}

// next follows one step to a node. It returns 0 for a missing member or element, and false for an index that fails or
// has the wrong type.
func (f *Frame) next(i uint32, s *step) (uint32, bool) {
	if s.member != nil {
		return f.member(i, s.member), true
	}
	name := s.name
	if s.by != nil {
		by, ok := s.by(f)
		switch {
		case !ok || by.opt: // cel-go has no qualifier for an optional
			return 0, false
		case by.kind == kindInt && s.from.Kind == List:
			return f.element(i, int64(by.word))
		case by.kind != kindString:
			return 0, false
		}
		name = by.text()
	}
	if s.from.Kind == List {
		return 0, false
	}
	m, ok := f.find(i, name)
	if s.from.Kind == Object && f.Doc.Nodes[m].Kind == tree.Null {
		m = 0
	}
	return m, ok
}

// maxSearched bounds the members or elements that are searched one by one, so that an access takes no longer than in
// the fallback. The fallback finds them in larger objects and lists.
const maxSearched = 1 << 8

// find returns a member of an object by its name, 0 if it is absent or the node is not an object. It is false for an
// object that is too large to search.
func (f *Frame) find(object uint32, name string) (uint32, bool) {
	n := &f.Doc.Nodes[object]
	if n.Kind == tree.Object && n.Live > maxSearched {
		return 0, false
	}
	return f.Doc.Field(object, name), true
}

// element returns an element of a list by its index, 0 if it is absent or the node is not a list. It is false for an
// element that is too far from the first one.
func (f *Frame) element(list uint32, at int64) (uint32, bool) {
	n := &f.Doc.Nodes[list]
	if n.Kind != tree.Array || at < 0 || at >= int64(n.Live) {
		return 0, true
	}
	if at > maxSearched {
		return 0, false
	}
	i := n.First
	for range at {
		i = f.Doc.Nodes[i].Next
	}
	return i, true
}
