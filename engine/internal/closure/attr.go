package closure

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
)

// attr is a variable, or the value of an operand, with the selectors and indexes behind it. cel-go resolves it as one
// step and charges 1 for each selector, and 1 more unless it is a branch of a conditional (interpreter/attributes.go).
type attr struct {
	// branches is set for a conditional. Selectors apply to its branches. It costs nothing itself.
	branches *branches
	// base is the value that steps start from. If it is nil, they start from the variable in slot node of the frame's
	// nodes.
	base *expr
	node int
	// typ is the type of that variable.
	typ *Type

	steps []step
	// shape is the shape of the value behind the steps, optional if any step is.
	shape *shape
	// optional: the base or a step is optional, so that a missing member yields none and no error.
	optional bool
}

type branches struct {
	test    boolFn
	yes, no *expr
}

// step is one selector or index.
type step struct {
	optional bool
	// by is an index: an element of a list or a member of a map. If it is nil, the step leads to the member name.
	by     valFn
	name   string  // as expressions spell it; the property name of a declared member
	member *Member // a declared member with a slot, or nil

	// from is the type of the node that the step starts from, nil if it is unknown or not a node. to is then the type of
	// the member or element.
	from, to *Type
}

// selected adds a step to an expression.
func (c *compiler) selected(x *expr, s step) *expr {
	if x.attr != nil && x.attr.branches != nil {
		b := *x.attr.branches
		b.yes, b.no = c.selected(b.yes, s), c.selected(b.no, s)
		return conditionalExpr(&b)
	}
	var a attr
	if x.attr != nil {
		a = *x.attr
		a.steps = append(append(make([]step, 0, len(a.steps)+1), a.steps...), s)
	} else {
		a = attr{base: x, shape: x.shape, steps: []step{s}, optional: x.shape.kind == kindOptional}
	}
	last := &a.steps[len(a.steps)-1]
	from := a.shape
	if from.kind == kindOptional {
		from = from.element()
	}
	to := c.bind(last, from)
	if last.optional {
		a.optional = true
	}
	a.shape = to
	if a.optional {
		a.shape = &shape{kind: kindOptional, elem: to}
	}
	return &expr{shape: a.shape, attr: &a}
}

// bind resolves a step against the shape of its operand and returns the shape behind it.
func (c *compiler) bind(s *step, from *shape) *shape {
	if from.typ == nil || from.kind == kindDyn {
		switch from.kind {
		case kindList, kindMap:
			return from.element()
		}
		return dynShape
	}
	s.from = from.typ
	switch from.kind {
	case kindObject:
		if s.by != nil {
			c.unsupported("an index into an object")
		}
		m := s.from.Identified(s.name)
		if m == nil {
			c.unsupported("the member %s", s.name)
		}
		s.name, s.to = m.Name, m.Type
		if m.Slot != NoSlot {
			s.member = m
		}
	case kindMap, kindList:
		if s.to = s.from.Elem; s.to == nil {
			c.unsupported("elements without a type")
		}
	}
	return shapeOfType(s.to)
}

// Identified returns the property of an object with the name in expressions, or nil.
func (t *Type) Identified(ident string) *Member {
	for i := range t.Members {
		if m := &t.Members[i]; m.Ident == ident && ident != "" {
			return m
		}
	}
	return nil
}

// index compiles list[i], map[k] and their optional forms.
func (c *compiler) index(call ast.CallExpr, optional bool) *expr {
	x, by := c.compile(call.Args()[0]), c.compile(call.Args()[1])
	s := step{optional: optional}
	switch {
	case by.isConst && by.constant.kind == kindString:
		s.name = by.constant.text()
	case by.attr != nil && by.attr.optional || by.shape.kind == kindOptional:
		c.unsupported("an index that is optional")
	default: // the index itself is observed as a step
		s.by = c.resolve(by, 0).val()
	}
	return c.selected(x, s)
}

// optionalSelect compiles object.?member.
func (c *compiler) optionalSelect(call ast.CallExpr) *expr {
	name, ok := call.Args()[1].AsLiteral().(types.String)
	if !ok {
		c.unsupported("an optional selector that is no name")
	}
	return c.selected(c.compile(call.Args()[0]), step{name: string(name), optional: true})
}

// resolve compiles the closures of an attribute. extra is 1 where cel-go observes it, 0 for a branch or an index.
func (c *compiler) resolve(x *expr, extra uint64) *expr {
	a := x.attr
	if a == nil {
		return x
	}
	if a.branches != nil {
		return c.choice(a.branches)
	}
	cost := uint64(len(a.steps)) + extra
	if a.base != nil && len(a.steps) == 0 && !a.optional {
		return charged(a.base, cost)
	}
	if p, t := c.nodePlace(a, cost); p != nil && !a.optional {
		x = typed(p, t)
	} else {
		x = c.valuePlace(a, extra)
	}
	x.part = c.partOf(a)
	return x
}

// typed returns the value of the node that an attribute leads to.
func typed(p *place, t *Type) *expr {
	x := &expr{shape: shapeOfType(t), v: func(f *Frame) (val, bool) {
		i, ok := p.find(f)
		if !ok {
			return val{}, false
		}
		return f.read(i, t)
	}}
	switch t.Kind {
	case String:
		if !t.Nullable {
			x.text = p
		}
	case List, Map, Object:
		kinds := nodeKinds[t.Kind]
		x.n = func(f *Frame) (uint32, bool) {
			i, ok := p.find(f)
			return i, ok && kinds>>f.Doc.Nodes[i].Kind&1 != 0
		}
	}
	return x
}

// charged adds a cost to an expression.
func charged(x *expr, cost uint64) *expr {
	v := x.val()
	return &expr{shape: x.shape, v: func(f *Frame) (val, bool) {
		f.Cost += cost
		return v(f)
	}}
}

// dynOf compiles dyn, which changes nothing and costs 1.
func dynOf(_ *compiler, _ callee, args []*expr) *expr {
	return &expr{shape: dynShape, v: charged(args[0], 1).v}
}
