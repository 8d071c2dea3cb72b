package closure

import (
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types/ref"
)

// equality compiles == and !=. They cost a tenth of the smaller operand: code points of strings, elements of
// containers, 1 for everything else.
func equality(_ *compiler, k callee, args []*expr) *expr {
	negate := k.name == operators.NotEquals
	a, b := args[0], args[1]
	x := &expr{shape: boolShape}
	sameKind := a.shape.kind == b.shape.kind && !a.nullable && !b.nullable
	switch kind := a.shape.kind; {
	case sameKind && kind == kindString:
		if a.isConst {
			a, b = b, a
		}
		x.b = equalStrings(a.str(), b, negate)
	case sameKind && kind == kindBool:
		x.b = binary(a.bool(), b.bool(), func(x, y bool) (bool, bool) { return (x == y) != negate, true })
	case sameKind && (kind == kindInt || kind == kindDuration || kind == kindUint):
		x.b = binary(a.word(), b.word(), func(x, y uint64) (bool, bool) { return (x == y) != negate, true })
	default:
		x.b = equalValues(a.val(), b.val(), negate)
	}
	return x
}

func equalStrings(l strFn, b *expr, negate bool) boolFn {
	if !b.isConst {
		r := b.str()
		return func(f *Frame) (bool, bool) {
			s, ok := l(f)
			t, also := r(f)
			f.Cost += tenth(min(s.size(), t.size()))
			return (s.text == t.text) != negate, ok && also
		}
	}
	t := b.constant.text
	n := b.constant.str().size()
	return func(f *Frame) (bool, bool) {
		s, ok := l(f)
		switch {
		case n > 10:
			f.Cost += tenth(min(s.size(), n))
		case n > 0 && s.text != "":
			f.Cost++
		}
		return (s.text == t) != negate, ok
	}
}

func equalValues(l, r valFn, negate bool) boolFn {
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

// equalCost is the cost of == and !=. The Kubernetes library has another cost for == of its own types.
func (f *Frame) equalCost(x, y val, negate bool) uint64 {
	if x.kind == kindRef && !negate && !x.opt {
		p, _ := f.ref(x)
		if cost := estimator.CallCost(operators.Equals, overloads.Equals, []ref.Val{p, p}, nil); cost != nil {
			return *cost
		}
	}
	return tenth(min(f.size(x), f.size(y)))
}
