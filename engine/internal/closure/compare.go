package closure

import (
	"cmp"

	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/traits"
)

// comparison compiles <, <=, > and >=. Comparing two values that the checker knows to be strings costs a tenth of the
// shorter one, everything else costs 1.
func comparison(_ *compiler, k callee, args []*expr) *expr {
	a, b := args[0], args[1]
	x := &expr{shape: boolShape}
	holds := signTests[k.name]
	switch kind := a.shape.kind; {
	case kind == kindString && b.shape.kind == kindString:
		l, r := a.str(), b.str()
		x.b = func(f *Frame) (bool, bool) {
			s, ok := l(f)
			t, also := r(f)
			f.Cost += tenth(min(s.size(), t.size()))
			return holds(cmp.Compare(s.text, t.text)), ok && also
		}
	case kind == b.shape.kind && (kind == kindInt || kind == kindDuration):
		x.b = comparedInts(a.word(), b, holds)
	case k.overload == "" || a.isNumber() && b.isNumber():
		x.b = comparedValues(a.val(), b.val(), holds)
	default:
		return nil
	}
	return x
}

func (x *expr) isNumber() bool { return x.shape.kind == kindInt || x.shape.kind == kindDouble }

// signTests report whether an operator holds for the sign of a comparison.
var signTests = map[string]func(sign int) bool{
	operators.Less:          func(sign int) bool { return sign < 0 },
	operators.LessEquals:    func(sign int) bool { return sign <= 0 },
	operators.Greater:       func(sign int) bool { return sign > 0 },
	operators.GreaterEquals: func(sign int) bool { return sign >= 0 },
}

func comparedInts(l wordFn, b *expr, holds func(sign int) bool) boolFn {
	if b.isConst {
		y := int64(b.constant.word)
		return func(f *Frame) (bool, bool) {
			x, ok := l(f)
			f.Cost++
			return holds(cmp.Compare(int64(x), y)), ok
		}
	}
	return binary(l, b.word(), func(x, y uint64) (bool, bool) { return holds(cmp.Compare(int64(x), int64(y))), true })
}

// comparedValues compares operands of other types, and of types that the checker does not know, such as int-or-string.
func comparedValues(l, r valFn, holds func(sign int) bool) boolFn {
	return func(f *Frame) (bool, bool) {
		x, ok := l(f)
		y, also := r(f)
		f.Cost++
		if !ok || !also || x.opt || y.opt {
			return false, false
		}
		switch {
		case x.kind == kindInt && y.kind == kindInt:
			return holds(cmp.Compare(int64(x.word), int64(y.word))), true
		case x.kind == kindDouble && y.kind == kindDouble && x.float() == x.float() && y.float() == y.float():
			return holds(cmp.Compare(x.float(), y.float())), true
		case x.kind == kindString && y.kind == kindString:
			return holds(cmp.Compare(x.text, y.text)), true
		}
		sign, ok := f.compareRefs(x, y)
		return holds(sign), ok
	}
}

// compareRefs compares cel-go's own values.
func (f *Frame) compareRefs(a, b val) (sign int, ok bool) {
	defer unknownOnPanic(&ok)
	p, q, ok := f.refs(a, b)
	if !ok {
		return 0, false
	}
	comparer, ok := p.(traits.Comparer)
	if !ok {
		return 0, false
	}
	s, ok := comparer.Compare(q).(types.Int)
	return int(s), ok
}
