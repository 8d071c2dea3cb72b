package closure

import (
	"github.com/google/cel-go/common"
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
	compile()
	c.scope = outer
	l.first = nil // programs retain the loop, not its variable
}

// quantifier compiles all, or exists if any is set. Each element costs 2 for the condition (3 for exists), 1 for the
// accumulator, and its predicate. The element behind the one that decides costs the condition once more. The result
// costs 1.
func (c *compiler) quantifier(m ast.ComprehensionExpr, source *expr, any bool) *expr {
	operator, condition := operators.LogicalAnd, uint64(2)
	if any {
		operator, condition = operators.LogicalOr, 3
	}
	args, ok := isCall(m.LoopStep(), operator, 2)
	if !ok || !isIdent(args[0], m.AccuVar()) || !isIdent(m.Result(), m.AccuVar()) {
		c.unsupported("a quantifier of an unknown macro")
	}
	l, holds := c.predicate(m, source, args[1])
	return &expr{shape: boolShape, b: func(f *Frame) (bool, bool) {
		decided, p := false, l.start(f)
		for l.next(f, &p) {
			f.Cost += condition
			if decided {
				break
			}
			f.Cost++
			v, ok := holds(f)
			if !ok {
				return false, false
			}
			decided = v == any
		}
		f.Cost++
		return decided == any, p.ok
	}}
}

// predicate prepares the loop of a macro and compiles its predicate.
func (c *compiler) predicate(m ast.ComprehensionExpr, source *expr, e ast.Expr) (l *loop, holds boolFn) {
	l = c.loop(m, source)
	c.within(m, l, func() { holds = c.observed(e).bool() })
	return l, holds
}

// existsOne costs 2 for each element that it finds and 2 for the result.
func (c *compiler) existsOne(m ast.ComprehensionExpr, source *expr) *expr {
	args, ok := isCall(m.LoopStep(), operators.Conditional, 3)
	if !ok || !isIdent(args[2], m.AccuVar()) || !isBool(m.LoopCondition(), true) {
		c.unsupported("a count of an unknown macro")
	}
	l, holds := c.predicate(m, source, args[0])
	return &expr{shape: boolShape, b: func(f *Frame) (bool, bool) {
		count, p := uint64(0), l.start(f)
		for l.next(f, &p) {
			v, ok := holds(f)
			if !ok {
				return false, false
			}
			if v {
				count++
			}
		}
		f.Cost += 2 * (count + 1)
		return count == 1, p.ok
	}}
}

// collection compiles map and filter. Each element that is kept costs 10 for the list around it (unless
// it is a constant), 1 for the accumulator and 1 for the addition; the result costs 1.
func (c *compiler) collection(m ast.ComprehensionExpr, source *expr) *expr {
	step, test := m.LoopStep(), ast.Expr(nil)
	if args, ok := isCall(step, operators.Conditional, 3); ok && isIdent(args[2], m.AccuVar()) {
		test, step = args[0], args[1]
	}
	args, ok := isCall(step, operators.Add, 2)
	if !ok || !isIdent(args[0], m.AccuVar()) || args[1].Kind() != ast.ListKind || args[1].AsList().Size() != 1 ||
		!isIdent(m.Result(), m.AccuVar()) {
		c.unsupported("a collection of an unknown macro")
	}
	l := c.loop(m, source)
	var keep boolFn
	var elem *expr
	c.within(m, l, func() {
		if test != nil {
			keep = c.observed(test).bool()
		}
		elem = c.observed(args[1].AsList().Elements()[0])
	})
	cost := uint64(2 + common.ListCreateBaseCost)
	if elem.isConst {
		cost = 2
	}
	v := elem.shallow()
	return &expr{shape: &shape{kind: kindList, elem: elem.shape}, part: elem.part, v: func(f *Frame) (val, bool) {
		from, p := len(f.stack), l.start(f)
		for l.next(f, &p) {
			if keep != nil {
				if kept, ok := keep(f); !ok {
					return val{}, false
				} else if !kept {
					continue
				}
			}
			e, ok := v(f)
			f.Cost += cost
			if !ok || !f.push(e) {
				return val{}, false
			}
		}
		f.Cost++
		if !p.ok {
			return val{}, false
		}
		return f.store(from)
	}}
}
