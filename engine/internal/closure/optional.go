package closure

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/traits"

	"github.com/crdeval/crdeval/engine/value"
)

// presence compiles has(operand.field). It costs 1 for each selector, the tested one included, and nothing for the variable or the test.
func (c *compiler) presence(operand *expr, field string) *expr {
	if operand.attr != nil && operand.attr.branches != nil {
		c.no("has() on a conditional")
	}
	a := c.selected(operand, step{kind: stepMember, name: field}).attr
	if a.optional {
		walk := c.optionalWalk(a, 0)
		return &expr{shape: boolShape, optionalTest: true, b: func(f *Frame) (bool, bool) {
			v, ok := walk(f)
			return v.kind != kindNone, ok
		}}
	}
	last, cost := a.steps[len(a.steps)-1], uint64(len(a.steps))
	before := *a
	before.steps = a.steps[:len(a.steps)-1]
	if n, _ := c.nodeWalk(&before, cost); n != nil && last.from != nil {
		return &expr{shape: boolShape, b: presenceOf(&before, n, last, cost)}
	}
	v := c.valueWalk(&before, cost).val()
	return &expr{shape: boolShape, b: func(f *Frame) (bool, bool) {
		object, ok := v(f)
		if !ok {
			return false, false
		}
		_, present, ok := f.follow(object, &last)
		return present, ok
	}}
}

// presenceOf tests for a member of the node that n leads to, by way of before at the cost.
func presenceOf(before *attr, n nodeFn, last step, cost uint64) boolFn {
	if last.slot < 0 || formatted(last.to.Kind) {
		return func(f *Frame) (bool, bool) {
			i, ok := n(f)
			if !ok {
				return false, false
			}
			m, ok := f.probe(i, &last)
			return m != 0, ok
		}
	}
	slot, name, kinds := uint64(last.slot), last.name, nodeKinds[last.to.Kind]
	if before.base == nil && len(before.steps) == 0 {
		variable := before.node
		return func(f *Frame) (bool, bool) {
			f.Cost += cost
			return f.has(f.nodes[variable], slot, name, kinds)
		}
	}
	return func(f *Frame) (bool, bool) {
		i, ok := n(f)
		if !ok {
			return false, false
		}
		return f.has(i, slot, name, kinds)
	}
}

// has reports whether an object has a member that stands in a slot. The member's kind must be right: upstream reads it.
func (f *Frame) has(object uint32, slot uint64, name string, kinds uint16) (bool, bool) {
	if f.Doc.Nodes[object].Kind != value.Object {
		return false, false
	}
	m := f.member(object, slot, name)
	return m != 0, m == 0 || kinds>>f.Doc.Nodes[m].Kind&1 != 0
}

// probe looks for the member or element that a step of known type leads to; 0 if it is absent. It is false where upstream has an error.
func (f *Frame) probe(i uint32, s *step) (uint32, bool) {
	if nodeKinds[s.from.Kind]>>f.Doc.Nodes[i].Kind&1 == 0 {
		return 0, false
	}
	if s.kind == stepIndex { // so that what is missing can be told from an index that fails
		by, ok := s.by(f)
		if !ok {
			return 0, false
		}
		fixed := step{kind: stepElement, at: int64(by.word), slot: NoSlot, from: s.from, to: s.to}
		if by.kind == kindString {
			fixed.kind, fixed.name = stepMember, by.text
		} else if by.kind != kindInt {
			return 0, false
		}
		s = &fixed
	}
	if (s.kind == stepElement) != (s.from.Kind == List) {
		return 0, false
	}
	m := f.next(i, s)
	if m == 0 {
		return 0, true
	}
	if f.Doc.Nodes[m].Kind == value.Null {
		return m, s.to.Nullable
	}
	return m, f.readable(m, s.to)
}

// follow follows a step from a value. present is false for what is missing; ok is false where upstream has an error.
func (f *Frame) follow(v val, s *step) (to val, present, ok bool) {
	switch v.kind {
	case kindNode:
		i, t := v.node()
		known := s
		if s.from != t {
			if known = s.on(t); known == nil {
				return val{}, false, false
			}
		}
		m, ok := f.probe(i, known)
		if !ok || m == 0 {
			return val{}, false, ok
		}
		to, ok = f.read(m, known.to)
		return to, true, ok
	case kindList, kindMap:
		key := intVal(s.at)
		switch s.kind {
		case stepMember:
			key = keyVal(s.name)
		case stepIndex:
			if key, ok = s.by(f); !ok {
				return val{}, false, false
			}
		}
		return f.lookup(v, key)
	case kindRef:
		return f.lookupRef(v, s)
	}
	return val{}, false, false
}

// on is the step bound to a type that only the value told; nil if there is no such member or element.
func (s *step) on(t *Type) *step {
	known := *s
	known.slot, known.from, known.to = NoSlot, t, t.Elem
	if t.Kind == Object {
		m := t.identified(s.name)
		if s.kind != stepMember || m == nil {
			return nil
		}
		known.name, known.slot, known.to = m.Name, m.Slot, m.Type
	}
	if known.to == nil {
		return nil
	}
	return &known
}

// lookupRef follows a step from one of upstream's own lists or maps.
func (f *Frame) lookupRef(v val, s *step) (to val, present, ok bool) {
	defer unknownOnPanic(&ok)
	key := intVal(s.at)
	switch s.kind {
	case stepMember:
		key = keyVal(s.name)
	case stepIndex:
		if key, ok = s.by(f); !ok {
			return val{}, false, false
		}
	}
	switch c := v.of.(type) {
	case traits.Mapper:
		if key.kind != kindString || key.opt || s.from != nil {
			return val{}, false, false
		}
		r, found := c.Find(types.String(key.text))
		if !found || r == nil {
			return val{}, false, !found
		}
		to, ok = f.back(r)
		return to, true, ok
	case traits.Lister:
		n, _ := c.Size().(types.Int)
		at := types.Int(key.word)
		if key.kind != kindInt || key.opt {
			return val{}, false, false
		}
		if at < 0 || at >= n {
			return val{}, false, true
		}
		to, ok = f.back(c.Get(at))
		return to, true, ok
	}
	return val{}, false, false
}

// lookup is an element of a computed list or the value of a computed map's key.
func (f *Frame) lookup(v, key val) (to val, present, ok bool) {
	cells := v.span(f)
	if v.kind == kindList {
		at := int64(key.word)
		if key.kind != kindInt {
			return val{}, false, false
		}
		if at < 0 || at >= int64(len(cells)) {
			return val{}, false, true
		}
		return cells[at], true, true
	}
	if !scalar(key.kind) { // cel-go has no qualifier of lists, times and the like, whatever the map holds
		return val{}, false, false
	}
	for i := 0; i < len(cells); i += 2 {
		k := cells[i]
		if k.kind != key.kind {
			return val{}, false, false // numbers of several types: rare enough
		}
		if k.word == key.word && k.text == key.text {
			return cells[i+1], true, true
		}
		if i%512 == 510 && f.Stop.Stopped() {
			return val{}, false, false
		}
	}
	return val{}, false, true
}

func number(k kind) bool { return k >= kindInt && k <= kindDouble }

// scalar reports whether two values of the kind are the same if word and text are.
func scalar(k kind) bool {
	return k == kindBool || k == kindInt || k == kindUint || k == kindString
}

// valueWalk is the walk of an attribute that is not optional and starts from, or leads through, values that are no nodes.
func (c *compiler) valueWalk(a *attr, cost uint64) *expr {
	start, steps := c.start(a), a.steps
	return &expr{shape: a.shape, v: func(f *Frame) (val, bool) {
		v, ok := start(f)
		if !ok || v.opt {
			return val{}, false
		}
		f.Cost += cost
		for i := range steps {
			var present bool
			if v, present, ok = f.follow(v, &steps[i]); !ok || !present || v.opt && i < len(steps)-1 {
				return val{}, false
			}
		}
		return v, true
	}}
}

// start is the value that an attribute's steps start from.
func (c *compiler) start(a *attr) valFn {
	if a.base != nil {
		return a.base.val()
	}
	node, t := a.node, a.typ
	return func(f *Frame) (val, bool) { return f.read(f.nodes[node], t) }
}

// resolveOptional makes an optional attribute a closure. Steps that find nothing cost nothing, and end the walk.
func (c *compiler) resolveOptional(a *attr, extra uint64) *expr {
	return &expr{shape: a.shape, v: c.optionalWalk(a, extra)}
}

func (c *compiler) optionalWalk(a *attr, extra uint64) valFn {
	start, steps := c.start(a), a.steps
	if a.shape.elem != nil && a.shape.elem.kind == shapeOptional {
		c.no("an optional of an optional")
	}
	return func(f *Frame) (val, bool) {
		v, ok := start(f)
		f.Cost += extra
		if !ok || v.kind == kindNone {
			return v, ok
		}
		optional := v.opt
		v.opt = false
		for i := range steps {
			s := &steps[i]
			optional = optional || s.optional
			var present bool
			if v, present, ok = f.follow(v, s); !ok || v.opt {
				return val{}, false
			}
			if !present {
				return val{kind: kindNone, opt: true}, optional
			}
			f.Cost++
		}
		v.opt = true
		return v, true
	}
}

// lazyOr compiles optional.or and optional.orValue: free, and the right side only where it is needed (cel-go's optional library decorates them).
func (c *compiler) lazyOr(k callee, call ast.CallExpr) *expr {
	value := k.name == "orValue"
	if !value && k.name != "or" || !call.IsMemberFunction() || len(call.Args()) != 1 {
		return nil
	}
	left, right := c.observed(call.Target()), c.observed(call.Args()[0])
	l, r := left.val(), right.val()
	s := join(left.shape, right.shape)
	if value {
		s = join(left.shape.element(), right.shape)
	}
	return &expr{shape: s, v: func(f *Frame) (val, bool) {
		v, ok := l(f)
		switch {
		case !ok || !v.opt:
			return val{}, false
		case v.kind == kindNone:
			return r(f)
		case value:
			v.opt = false
		}
		return v, true
	}}
}

func hasValue(_ *compiler, _ callee, args []*expr) *expr {
	if len(args) != 1 {
		return nil
	}
	v := args[0].val()
	return &expr{shape: boolShape, b: func(f *Frame) (bool, bool) {
		r, ok := v(f)
		f.Cost++
		return r.kind != kindNone, ok && r.opt
	}}
}

func optionalValue(_ *compiler, _ callee, args []*expr) *expr {
	if len(args) != 1 || args[0].shape.kind != shapeOptional {
		return nil
	}
	v := args[0].val()
	return &expr{shape: args[0].shape.element(), v: func(f *Frame) (val, bool) {
		r, ok := v(f)
		f.Cost++
		if !ok || !r.opt || r.kind == kindNone {
			return val{}, false
		}
		r.opt = false
		return r, true
	}}
}

func optionalOf(_ *compiler, _ callee, args []*expr) *expr {
	if len(args) != 1 {
		return nil
	}
	v := args[0].val()
	return &expr{shape: &shape{kind: shapeOptional, elem: args[0].shape}, v: func(f *Frame) (val, bool) {
		r, ok := v(f)
		f.Cost++
		if !ok || r.opt {
			return val{}, false
		}
		r.opt = true
		return r, true
	}}
}

func optionalNone(_ *compiler, k callee, args []*expr) *expr {
	if len(args) != 0 {
		return nil
	}
	return &expr{shape: k.result, v: func(f *Frame) (val, bool) {
		f.Cost++
		return val{kind: kindNone, opt: true}, true
	}}
}
