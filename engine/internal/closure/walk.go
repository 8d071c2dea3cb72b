package closure

import "github.com/crdeval/crdeval/engine/value"

// nodeWalk compiles an attribute whose steps all lead from node to node of known types. It returns nil for others.
func (c *compiler) nodeWalk(a *attr, cost uint64) (nodeFn, *Type) {
	t := a.typ
	for i := range a.steps {
		if a.steps[i].from == nil {
			return nil, nil
		}
		t = a.steps[i].to
	}
	steps, node := a.steps, a.node
	if a.base != nil {
		if a.base.n == nil {
			return nil, nil
		}
		base := a.base.n
		return func(f *Frame) (uint32, bool) {
			i, ok := base(f)
			if !ok {
				return 0, false
			}
			f.Cost += cost
			return f.walk(i, steps)
		}, t
	}
	switch {
	case len(steps) == 0:
		return func(f *Frame) (uint32, bool) {
			f.Cost += cost
			return f.nodes[node], true
		}, t
	case len(steps) == 1 && steps[0].slot >= 0:
		slot, name := uint64(steps[0].slot), steps[0].name
		return func(f *Frame) (uint32, bool) {
			f.Cost += cost
			i := f.member(f.nodes[node], slot, name)
			return i, i != 0
		}, t
	}
	return func(f *Frame) (uint32, bool) {
		f.Cost += cost
		return f.walk(f.nodes[node], steps)
	}, t
}

// member returns a declared member of an object by its slot. It is 0 if the member is absent or null or the node is not
// an object.
func (f *Frame) member(object uint32, slot uint64, name string) uint32 {
	d := f.Doc
	n := &d.Nodes[object]
	if n.Kind != value.Object {
		return 0
	}
	var i uint32
	if n.Flags&value.Slotted != 0 {
		i = d.Slots[n.Val+slot]
	} else {
		i = d.Field(object, name)
	}
	if d.Nodes[i].Kind == value.Null {
		return 0
	}
	return i
}

// walk follows steps from node to node. It is false where upstream has an error.
func (f *Frame) walk(i uint32, steps []step) (uint32, bool) {
	for k := range steps {
		var ok bool
		if i, ok = f.next(i, &steps[k]); !ok || i == 0 {
			return 0, false
		}
	}
	return i, true
}

// next follows one step to a node. It returns 0 for a missing member or element, and false for an index that fails or
// has the wrong type.
func (f *Frame) next(i uint32, s *step) (uint32, bool) {
	if s.slot >= 0 {
		return f.member(i, uint64(s.slot), s.name), true
	}
	if s.kind == stepElement {
		return f.element(i, s.at), s.from.Kind == List
	}
	name := s.name
	if s.kind == stepIndex {
		by, ok := s.by(f)
		if ok && by.kind == kindInt && s.from.Kind == List {
			return f.element(i, int64(by.word)), true
		}
		if !ok || by.kind != kindString {
			return 0, false
		}
		name = by.text
	}
	if s.from.Kind == List {
		return 0, false
	}
	m := f.find(i, name)
	if s.from.Kind == Object && f.Doc.Nodes[m].Kind == value.Null {
		m = 0
	}
	return m, true
}

// Objects with more than manyMembers members are indexed after rules have compared indexAfter of their names. The
// position of the last element is remembered in lists from element manyElements on.
const (
	manyMembers  = 32
	indexAfter   = 1 << 10
	manyElements = 16
)

// find returns a member of an object by its name, 0 if there is none or the node is not an object.
func (f *Frame) find(object uint32, name string) uint32 {
	n := &f.Doc.Nodes[object]
	if n.Kind != value.Object || n.Live <= manyMembers {
		return f.Doc.Field(object, name)
	}
	f.indexed = true
	x := &f.members[object%uint32(len(f.members))]
	switch {
	case x.object != object:
		*x = memberIndex{object: object}
	case x.byName != nil:
		return x.byName[name]
	case x.misses*int(n.Live) < indexAfter:
		x.misses++
	default:
		x.byName = make(map[string]uint32, n.Live)
		for m := n.First; m != 0; m = f.Doc.Nodes[m].Next {
			x.byName[f.Doc.Key(m)] = m
		}
		f.pollSoon()
		return x.byName[name]
	}
	if n.Live > manyMembers*ticksPerPoll {
		f.pollSoon()
	}
	return f.Doc.Field(object, name)
}

// element returns an element of a list by its index, 0 if there is none or the node is not a list. It remembers the
// position, because rules go through lists in order.
func (f *Frame) element(list uint32, at int64) uint32 {
	n := &f.Doc.Nodes[list]
	if n.Kind != value.Array || at < 0 || at >= int64(n.Live) {
		return 0
	}
	i, from := n.First, int64(0)
	if at < manyElements {
		for ; from < at; from++ {
			i = f.Doc.Nodes[i].Next
		}
		return i
	}
	f.indexed = true
	p := &f.positions[list%uint32(len(f.positions))]
	if p.list == list && p.at <= at {
		i, from = p.element, p.at
	}
	if at-from > manyElements*ticksPerPoll {
		f.pollSoon()
	}
	for ; from < at; from++ {
		i = f.Doc.Nodes[i].Next
	}
	*p = position{list, i, at}
	return i
}

// memberIndex is the index of a large object by member name.
type memberIndex struct {
	object uint32
	misses int // searches so far
	byName map[string]uint32
}

// position is the last position in a list.
type position struct {
	list, element uint32
	at            int64
}

func readBool(n nodeFn) boolFn {
	return func(f *Frame) (bool, bool) {
		i, ok := n(f)
		k := f.Doc.Nodes[i].Kind
		return k == value.True, ok && (k == value.True || k == value.False)
	}
}

func readInt(n nodeFn) wordFn {
	return func(f *Frame) (uint64, bool) {
		i, ok := n(f)
		m := &f.Doc.Nodes[i]
		return m.Val, ok && m.Kind == value.Int
	}
}

func readString(n nodeFn) strFn {
	return func(f *Frame) (str, bool) {
		i, ok := n(f)
		m := &f.Doc.Nodes[i]
		if !ok || m.Kind != value.String {
			return str{}, false
		}
		return str{f.Doc.Str(i), m.Flags&value.Wide != 0}, true
	}
}
