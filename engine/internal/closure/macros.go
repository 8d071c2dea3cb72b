package closure

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// fold compiles a macro. Comprehensions have no syntax of their own, so only the macros of the environment make them
// (cel-go's parser/macro.go, ext/comprehensions.go, and optMap of the optional library).
func (c *compiler) fold(e ast.Expr) *expr {
	m := e.AsComprehension()
	if isBool(m.LoopCondition(), false) {
		c.unsupported("the bound variable of optMap, optFlatMap or sortBy")
	}
	source := c.observed(m.IterRange())
	switch init := m.AccuInit(); init.Kind() {
	case ast.LiteralKind:
		switch v := init.AsLiteral().(type) {
		case types.Bool:
			return c.quantifier(m, source, v == types.False)
		case types.Int:
			return c.existsOne(m, source)
		}
	case ast.ListKind:
		return c.collection(m, source)
	}
	c.unsupported("a macro that makes a map")
	return nil
}

func isBool(e ast.Expr, want bool) bool {
	return e.Kind() == ast.LiteralKind && e.AsLiteral() == types.Bool(want)
}

func isIdent(e ast.Expr, name string) bool { return e.Kind() == ast.IdentKind && e.AsIdent() == name }

// isCall returns the arguments of a call, and whether it is a call of the function with n arguments.
func isCall(e ast.Expr, function string, n int) ([]ast.Expr, bool) {
	if e.Kind() != ast.CallKind {
		return nil, false
	}
	call := e.AsCall()
	return call.Args(), call.FunctionName() == function && len(call.Args()) == n && !call.IsMemberFunction()
}

// within compiles with the macro's variables declared and the accumulator hidden.
func (c *compiler) within(m ast.ComprehensionExpr, l *loop, compile func()) {
	outer := c.scope
	c.declare(m.AccuVar(), nil)
	c.declare(m.IterVar(), l.first)
	if m.IterVar2() != "" {
		c.declare(m.IterVar2(), l.second)
	}
	compile()
	c.scope = outer
	l.first, l.second = nil, nil // programs retain the loop, not its variables
}

// quantifier compiles all, or exists if any is set, with one or two variables. Each element costs 2 for the condition
// (3 for exists), 1 for the accumulator, and its predicate. The element behind the one that decides costs the condition
// once more. The result costs 1.
func (c *compiler) quantifier(m ast.ComprehensionExpr, source *expr, any bool) *expr {
	operator := operators.LogicalAnd
	condition := uint64(2)
	if any {
		operator, condition = operators.LogicalOr, 3
	}
	args, ok := isCall(m.LoopStep(), operator, 2)
	if !ok || !isIdent(args[0], m.AccuVar()) || !isIdent(m.Result(), m.AccuVar()) {
		c.unsupported("a quantifier of an unknown macro")
	}
	l := c.loop(m, source)
	var holds boolFn
	c.within(m, l, func() { holds = c.observed(args[1]).bool() })
	decided := c.flag()
	each := func(f *Frame) (more, ok bool) {
		f.Cost += condition
		if f.bools[decided] {
			return false, true
		}
		f.Cost++
		v, ok := holds(f)
		f.bools[decided] = v == any
		return true, ok
	}
	return &expr{shape: boolShape, b: func(f *Frame) (bool, bool) {
		f.bools[decided] = false
		ok := l.run(f, each)
		f.Cost++
		return f.bools[decided] == any, ok
	}}
}

// existsOne costs 2 for each element that it finds and 2 for the result.
func (c *compiler) existsOne(m ast.ComprehensionExpr, source *expr) *expr {
	args, ok := isCall(m.LoopStep(), operators.Conditional, 3)
	if !ok || !isIdent(args[2], m.AccuVar()) || !isBool(m.LoopCondition(), true) {
		c.unsupported("a count of an unknown macro")
	}
	l := c.loop(m, source)
	var holds boolFn
	c.within(m, l, func() { holds = c.observed(args[0]).bool() })
	count := c.counter()
	each := func(f *Frame) (more, ok bool) {
		v, ok := holds(f)
		if v {
			f.ints[count]++
			f.Cost += 2
		}
		return true, ok
	}
	return &expr{shape: boolShape, b: func(f *Frame) (bool, bool) {
		f.ints[count] = 0
		ok := l.run(f, each)
		f.Cost += 2
		return f.ints[count] == 1, ok
	}}
}
