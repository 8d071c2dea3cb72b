package closure

import (
	"cmp"
	"math"

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
	isNumber := func(x *expr) bool { return x.shape.kind == shapeInt || x.shape.kind == shapeDouble }
	switch kind := a.shape.kind; {
	case k.overload == "":
		x.b = comparedValues(a.val(), b.val(), holds)
	case kind == shapeString && b.shape.kind == shapeString:
		l, r := a.str(), b.str()
		x.b = func(f *Frame) (bool, bool) {
			s, ok := l(f)
			t, also := r(f)
			f.Cost += tenth(min(s.size(), t.size()))
			return holds(cmp.Compare(s.text, t.text)), ok && also
		}
	case kind == b.shape.kind && (kind == shapeInt || kind == shapeDuration):
		x.b = comparedInts(a.word(), b, holds)
	case isNumber(a) && isNumber(b):
		x.b = comparedNumbers(a, b, holds)
	default:
		return nil
	}
	return x
}

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

// comparedNumbers compares doubles, or a double with an int. NaN is an error.
func comparedNumbers(a, b *expr, holds func(sign int) bool) boolFn {
	aInt, bInt := a.shape.kind == shapeInt, b.shape.kind == shapeInt
	return binary(a.word(), b.word(), func(x, y uint64) (bool, bool) {
		if !aInt && nan(x) || !bInt && nan(y) {
			return false, false
		}
		switch {
		case aInt:
			return holds(-compareDoubleInt(math.Float64frombits(y), int64(x))), true
		case bInt:
			return holds(compareDoubleInt(math.Float64frombits(x), int64(y))), true
		}
		return holds(cmp.Compare(math.Float64frombits(x), math.Float64frombits(y))), true
	})
}

func nan(bits uint64) bool { return math.IsNaN(math.Float64frombits(bits)) }

// compareDoubleInt is cel-go's (common/types/compare.go): a double in the range of int64 is compared with the int as a
// double. d is not NaN.
func compareDoubleInt(d float64, i int64) int {
	switch {
	case d < math.MinInt64:
		return -1
	case d > math.MaxInt64:
		return 1
	}
	return cmp.Compare(d, float64(i))
}

// comparedValues compares operands of types that the checker does not know, such as int-or-string.
func comparedValues(l, r valFn, holds func(sign int) bool) boolFn {
	return func(f *Frame) (bool, bool) {
		x, ok := l(f)
		y, also := r(f)
		f.Cost++
		if !ok || !also || x.opt || y.opt {
			return false, false
		}
		if x.kind == y.kind {
			switch x.kind {
			case kindInt:
				return holds(cmp.Compare(int64(x.word), int64(y.word))), true
			case kindString:
				return holds(cmp.Compare(x.text, y.text)), true
			}
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
