package closure

import "github.com/google/cel-go/common/ast"

// lazyOr compiles optional.or and optional.orValue. They cost nothing, and the right side is evaluated only when needed
// (cel-go's optional library decorates them).
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
