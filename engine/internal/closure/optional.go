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

func hasValue(_ *compiler, _ callee, args []*expr) *expr {
	of := args[0].val()
	return &expr{shape: boolShape, b: func(f *Frame) (bool, bool) {
		v, ok := of(f)
		f.Cost++
		return v.kind != kindNone, ok && v.opt
	}}
}

func optionalValue(_ *compiler, _ callee, args []*expr) *expr {
	if args[0].shape.kind != kindOptional {
		return nil
	}
	of := args[0].val()
	return &expr{shape: args[0].shape.element(), v: func(f *Frame) (val, bool) {
		v, ok := of(f)
		f.Cost++
		ok = ok && v.opt && v.kind != kindNone
		v.opt = false
		return v, ok
	}}
}
