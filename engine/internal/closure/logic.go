package closure

import "github.com/google/cel-go/common/ast"

// conditional compiles test ? yes : no. cel-go treats it as an attribute: selectors behind it apply to its branches,
// which are not observed themselves.
func (c *compiler) conditional(call ast.CallExpr) *expr {
	args := call.Args()
	test := c.observed(args[0]).bool()
	yes, no := c.compile(args[1]), c.compile(args[2])
	if yes.optionalTest || no.optionalTest {
		c.unsupported("has() on an optional as a branch of a conditional")
	}
	return conditionalExpr(&branches{test, yes, no})
}

func conditionalExpr(b *branches) *expr {
	s := join(b.yes.shape, b.no.shape)
	return &expr{shape: s, attr: &attr{branches: b, shape: s}}
}

// choice compiles the closures of a conditional.
func (c *compiler) choice(b *branches) *expr {
	yes, no, test := c.resolve(b.yes, 0), c.resolve(b.no, 0), b.test
	x := &expr{shape: join(yes.shape, no.shape)}
	switch {
	case x.shape.kind == kindBool && (yes.b != nil || no.b != nil):
		x.b = choose(test, yes.bool(), no.bool())
	case yes.n != nil && no.n != nil && yes.shape.typ == no.shape.typ:
		x.n = choose(test, yes.n, no.n)
		c.reads.any = true
	default:
		x.v = choose(test, yes.val(), no.val())
	}
	return x
}

func choose[T any](test boolFn, yes, no func(*Frame) (T, bool)) func(*Frame) (T, bool) {
	return func(f *Frame) (none T, _ bool) {
		is, ok := test(f)
		switch {
		case !ok:
			return none, false
		case is:
			return yes(f)
		}
		return no(f)
	}
}

// logical compiles && and ||. They cost nothing, and the operands behind the one that decides are not evaluated.
func (c *compiler) logical(call ast.CallExpr, or bool) *expr {
	args := call.Args()
	result := c.observed(args[0]).bool()
	for _, arg := range args[1:] {
		left, right := result, c.observed(arg).bool()
		result = func(f *Frame) (bool, bool) {
			if v, ok := left(f); !ok || v == or {
				return v, ok
			}
			return right(f)
		}
	}
	return &expr{shape: boolShape, b: result}
}

func negation(_ *compiler, _ callee, args []*expr) *expr {
	operand := args[0].bool()
	return &expr{shape: boolShape, b: func(f *Frame) (bool, bool) {
		f.Cost++
		v, ok := operand(f)
		return !v, ok
	}}
}
