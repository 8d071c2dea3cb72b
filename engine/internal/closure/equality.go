package closure

import (
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types/ref"
)

// equality compiles == and !=. It costs a tenth of the smaller operand: code points of strings, elements of containers, 1 for all else.
func equality(c *compiler, k callee, args []*expr) *expr {
	negate := k.name == operators.NotEquals
	a, b := args[0], args[1]
	x := &expr{shape: boolShape}
	switch {
	case a.shape.kind != b.shape.kind || a.nullable || b.nullable:
		x.b = c.equalValues(a, b, negate)
	case a.shape.kind == shapeString:
		if a.isConst {
			a, b = b, a
		}
		x.b = equalStrings(a, b, negate)
	case a.shape.kind == shapeBool:
		l, r := a.bool(), b.bool()
		x.b = func(f *Frame) (bool, bool) {
			s, ok := l(f)
			t, also := r(f)
			f.Cost++
			return (s == t) != negate, ok && also
		}
	case a.shape.kind == shapeInt || a.shape.kind == shapeDuration || a.shape.kind == shapeUint:
		l, r := a.word(), b.word()
		x.b = func(f *Frame) (bool, bool) {
			s, ok := l(f)
			t, also := r(f)
			f.Cost++
			return (s == t) != negate, ok && also
		}
	default:
		x.b = c.equalValues(a, b, negate)
	}
	return x
}

func equalStrings(a, b *expr, negate bool) boolFn {
	if !b.isConst {
		l, r := a.str(), b.str()
		return func(f *Frame) (bool, bool) {
			s, ok := l(f)
			t, also := r(f)
			f.Cost += tenth(min(s.size(), t.size()))
			return (s.text == t.text) != negate, ok && also
		}
	}
	l, t := a.str(), b.constant.str()
	n := t.size()
	t.wide = false
	if n == 0 {
		return func(f *Frame) (bool, bool) {
			s, ok := l(f)
			return (s.text == "") != negate, ok
		}
	}
	if n <= 10 { // costs 1, unless the other one is empty
		return func(f *Frame) (bool, bool) {
			s, ok := l(f)
			if s.text != "" {
				f.Cost++
			}
			return (s.text == t.text) != negate, ok
		}
	}
	return func(f *Frame) (bool, bool) {
		s, ok := l(f)
		f.Cost += tenth(min(s.size(), n))
		return (s.text == t.text) != negate, ok
	}
}

func (c *compiler) equalValues(a, b *expr, negate bool) boolFn {
	l, r := a.val(), b.val()
	return func(f *Frame) (bool, bool) {
		x, ok := l(f)
		y, also := r(f)
		if !ok || !also {
			return false, false
		}
		f.Cost += f.equalCost(x, y, negate)
		if f.Cost > f.Limit {
			return false, false
		}
		same, ok := f.equal(x, y, true)
		return same != negate, ok
	}
}

// equalCost is the cost of == and !=. For == of types of its own the Kubernetes library has another one.
func (f *Frame) equalCost(x, y val, negate bool) uint64 {
	if x.kind == kindRef && !negate && !x.opt {
		p, _ := f.ref(x)
		if cost := estimator.CallCost(operators.Equals, overloads.Equals, []ref.Val{p, p}, nil); cost != nil {
			return *cost
		}
	}
	return tenth(min(f.size(x), f.size(y)))
}
