package closure

import "github.com/google/cel-go/common/ast"

// conditional compiles test ? yes : no. It is an attribute to cel-go: selectors behind it go to its branches, which are not observed themselves.
func (c *compiler) conditional(call ast.CallExpr) *expr {
	args := call.Args()
	test := c.observed(args[0]).bool()
	yes, no := c.compile(args[1]), c.compile(args[2])
	if yes.optionalTest || no.optionalTest {
		c.no("has() on an optional as a branch of a conditional")
	}
	return conditionalExpr(&branches{test, yes, no})
}

func conditionalExpr(b *branches) *expr {
	s := join(b.yes.shape, b.no.shape)
	return &expr{shape: s, attr: &attr{branches: b, shape: s}}
}

// choice makes a conditional closures.
func (c *compiler) choice(b *branches) *expr {
	yes, no, test := c.resolve(b.yes, 0), c.resolve(b.no, 0), b.test
	x := &expr{shape: join(yes.shape, no.shape)}
	switch {
	case yes.b != nil && no.b != nil:
		x.b = choose(test, yes.b, no.b)
	case yes.w != nil && no.w != nil && yes.shape.kind == no.shape.kind:
		x.w = choose(test, yes.w, no.w)
	case yes.s != nil && no.s != nil:
		x.s = choose(test, yes.s, no.s)
	case yes.n != nil && no.n != nil && yes.shape.typ == no.shape.typ:
		x.n = choose(test, yes.n, no.n)
	default:
		x.v = choose(test, yes.val(), no.val())
	}
	return x
}

func choose[T any](test boolFn, yes, no func(*Frame) (T, bool)) func(*Frame) (T, bool) {
	return func(f *Frame) (T, bool) {
		is, ok := test(f)
		switch {
		case !ok:
			var none T
			return none, false
		case is:
			return yes(f)
		}
		return no(f)
	}
}

// junction compiles && and ||. They cost nothing; what stands right of the operand that decides is not evaluated.
func (c *compiler) junction(call ast.CallExpr, or bool) *expr {
	var terms []boolFn
	for _, a := range call.Args() {
		terms = append(terms, c.observed(a).bool())
	}
	x := &expr{shape: boolShape}
	if len(terms) != 2 {
		x.b = func(f *Frame) (bool, bool) {
			for _, t := range terms {
				if v, ok := t(f); !ok || v == or {
					return v, ok
				}
			}
			return !or, true
		}
		return x
	}
	left, right := terms[0], terms[1]
	x.b = func(f *Frame) (bool, bool) {
		if v, ok := left(f); !ok || v {
			return v, ok
		}
		return right(f)
	}
	if !or {
		x.b = func(f *Frame) (bool, bool) {
			if v, ok := left(f); !ok || !v {
				return v, ok
			}
			return right(f)
		}
	}
	return x
}

func negation(_ *compiler, _ callee, args []*expr) *expr {
	b := args[0].bool()
	return &expr{shape: boolShape, b: func(f *Frame) (bool, bool) {
		v, ok := b(f)
		f.Cost++
		return !v, ok
	}}
}
