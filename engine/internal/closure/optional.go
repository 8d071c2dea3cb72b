package closure

import "github.com/google/cel-go/common/ast"

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
