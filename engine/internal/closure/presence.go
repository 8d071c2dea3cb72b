package closure

import "github.com/crdeval/crdeval/engine/internal/tree"

// presence compiles has(operand.field). It costs 1 for each selector, the tested one included, and nothing for the
// variable or the test.
func (c *compiler) presence(operand *expr, field string) *expr {
	if operand.attr != nil && operand.attr.branches != nil {
		c.unsupported("has() on a conditional")
	}
	a := c.selected(operand, step{name: field}).attr
	c.partOf(a)
	if a.optional {
		read := c.valuePlace(a, 0).v
		return &expr{shape: boolShape, optionalTest: true, b: func(f *Frame) (bool, bool) {
			v, ok := read(f)
			return v.kind != kindNone, ok
		}}
	}
	last, cost := &a.steps[len(a.steps)-1], uint64(len(a.steps))
	before := *a
	before.steps = a.steps[:len(a.steps)-1]
	if p, _ := c.nodePlace(&before, cost); p != nil && last.from != nil {
		if m, kinds := last.member, nodeKinds[last.to.Kind]; m != nil && !formatted(last.to.Kind) {
			return &expr{shape: boolShape, b: func(f *Frame) (bool, bool) {
				i, ok := p.find(f)
				if !ok || f.Doc.Nodes[i].Kind != tree.Object {
					return false, false
				}
				i = f.member(i, m)
				return i != 0, i == 0 || kinds>>f.Doc.Nodes[i].Kind&1 != 0
			}}
		}
		return &expr{shape: boolShape, b: func(f *Frame) (bool, bool) {
			i, _ := p.find(f) // no type allows the null at 0
			m, ok := f.probe(i, last)
			return m != 0, ok
		}}
	}
	v := c.valuePlace(&before, 1).val()
	return &expr{shape: boolShape, b: func(f *Frame) (bool, bool) {
		object, ok := v(f)
		if !ok {
			return false, false
		}
		_, present, ok := f.follow(object, last)
		return present, ok
	}}
}

// probe returns the member or element that a step of known type leads to, 0 if it is absent. It is false where upstream
// has an error.
func (f *Frame) probe(i uint32, s *step) (uint32, bool) {
	if nodeKinds[s.from.Kind]>>f.Doc.Nodes[i].Kind&1 == 0 {
		return 0, false
	}
	m, ok := f.next(i, s)
	if ok && m != 0 {
		_, ok = f.read(m, s.to)
	}
	return m, ok
}
