package closure

import "github.com/crdeval/crdeval/engine/value"

// place is the node that an attribute leads to.
type place struct {
	base  nodeFn // nil: the variable in the slot node of the frame's nodes
	node  int
	steps []step // from node to node of known types
	cost  uint64
}

// nodeWalk compiles an attribute whose steps all lead from node to node of known types. It returns nil for others.
func (c *compiler) nodeWalk(a *attr, cost uint64) (*place, *Type) {
	p, t := &place{node: a.node, steps: a.steps, cost: cost}, a.typ
	for i := range a.steps {
		if a.steps[i].from == nil {
			return nil, nil
		}
		t = a.steps[i].to
	}
	if a.base != nil {
		if p.base = a.base.n; p.base == nil {
			return nil, nil
		}
	}
	return p, t
}

// find returns the node. It is false where upstream has an error.
func (p *place) find(f *Frame) (i uint32, ok bool) {
	if p.base == nil {
		i = f.nodes[p.node]
	} else if i, ok = p.base(f); !ok {
		return 0, false
	}
	f.Cost += p.cost
	for k := range p.steps {
		if s := &p.steps[k]; s.slot >= 0 {
			i = f.member(i, s)
		} else if i, ok = f.next(i, s); !ok {
			return 0, false
		}
		if i == 0 {
			return 0, false
		}
	}
	return i, true
}

// member returns a declared member of an object by its slot. It is 0 if the member is absent or null or the node is not
// an object.
func (f *Frame) member(object uint32, s *step) uint32 {
	d := f.Doc
	n := &d.Nodes[object]
	if n.Kind != value.Object {
		return 0
	}
	var i uint32
	if n.Flags&value.Slotted != 0 {
		i = d.Slots[n.Val+uint64(s.slot)]
	} else {
		i = d.Field(object, s.name)
	}
	if d.Nodes[i].Kind == value.Null {
		return 0
	}
	return i
}

// next follows one step to a node. It returns 0 for a missing member or element, and false for an index that fails or
// has the wrong type.
func (f *Frame) next(i uint32, s *step) (uint32, bool) {
	if s.slot >= 0 {
		return f.member(i, s), true
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
	if s.from.Kind == Object && f.Doc.Nodes[m].Kind == value.Null {
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
	if n.Kind == value.Object && n.Live > maxSearched {
		return 0, false
	}
	return f.Doc.Field(object, name), true
}

// element returns an element of a list by its index, 0 if it is absent or the node is not a list. It is false for an
// element that is too far from the first one.
func (f *Frame) element(list uint32, at int64) (uint32, bool) {
	n := &f.Doc.Nodes[list]
	if n.Kind != value.Array || at < 0 || at >= int64(n.Live) {
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
