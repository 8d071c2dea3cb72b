package closure

import (
	"math"
	"strings"

	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/traits"
)

// comparison compiles <, <=, > and >=. Comparing two strings or bytes that the checker knows to be such costs a tenth of the shorter one, all else 1.
func comparison(c *compiler, k callee, args []*expr) *expr {
	a, b := args[0], args[1]
	x := &expr{shape: boolShape}
	switch {
	case k.overload == "":
		x.b = c.comparedValues(k.name, a, b)
	case a.shape.kind == shapeString && b.shape.kind == shapeString:
		l, r, want := a.str(), b.str(), wanted(k.name)
		x.b = func(f *Frame) (bool, bool) {
			s, ok := l(f)
			t, also := r(f)
			f.Cost += tenth(min(s.size(), t.size()))
			return want(strings.Compare(s.text, t.text)), ok && also
		}
	case a.shape.kind == b.shape.kind && (a.shape.kind == shapeInt || a.shape.kind == shapeDuration):
		x.b = comparedInts(k.name, a.word(), b)
	case a.shape.kind == shapeInt && b.shape.kind == shapeDouble, a.shape.kind == shapeDouble && b.shape.kind == shapeInt,
		a.shape.kind == shapeDouble && b.shape.kind == shapeDouble:
		x.b = comparedNumbers(k.name, a, b)
	default:
		return nil
	}
	return x
}

// wanted tells from the sign of a comparison whether the operator holds.
func wanted(operator string) func(sign int) bool {
	switch operator {
	case operators.Less:
		return func(sign int) bool { return sign < 0 }
	case operators.LessEquals:
		return func(sign int) bool { return sign <= 0 }
	case operators.Greater:
		return func(sign int) bool { return sign > 0 }
	}
	return func(sign int) bool { return sign >= 0 }
}

func comparedInts(operator string, a wordFn, b *expr) boolFn {
	if b.isConst {
		return comparedWithInt(operator, a, int64(b.constant.word))
	}
	r := b.word()
	compare := func(holds func(x, y int64) bool) boolFn {
		return func(f *Frame) (bool, bool) {
			x, ok := a(f)
			y, also := r(f)
			f.Cost++
			return holds(int64(x), int64(y)), ok && also
		}
	}
	switch operator {
	case operators.Less:
		return compare(func(x, y int64) bool { return x < y })
	case operators.LessEquals:
		return compare(func(x, y int64) bool { return x <= y })
	case operators.Greater:
		return compare(func(x, y int64) bool { return x > y })
	}
	return compare(func(x, y int64) bool { return x >= y })
}

func comparedWithInt(operator string, a wordFn, y int64) boolFn {
	switch operator {
	case operators.Less:
		return func(f *Frame) (bool, bool) { x, ok := a(f); f.Cost++; return int64(x) < y, ok }
	case operators.LessEquals:
		return func(f *Frame) (bool, bool) { x, ok := a(f); f.Cost++; return int64(x) <= y, ok }
	case operators.Greater:
		return func(f *Frame) (bool, bool) { x, ok := a(f); f.Cost++; return int64(x) > y, ok }
	}
	return func(f *Frame) (bool, bool) { x, ok := a(f); f.Cost++; return int64(x) >= y, ok }
}

func comparedNumbers(operator string, a, b *expr) boolFn {
	l, r, want := a.word(), b.word(), wanted(operator)
	ints, other := a.shape.kind == shapeInt, b.shape.kind == shapeInt
	return func(f *Frame) (bool, bool) {
		x, ok := l(f)
		y, also := r(f)
		f.Cost++
		var sign int
		switch {
		case ints:
			sign = -compareDoubleInt(math.Float64frombits(y), int64(x))
		case other:
			sign = compareDoubleInt(math.Float64frombits(x), int64(y))
		default:
			sign = compareDoubles(math.Float64frombits(x), math.Float64frombits(y))
		}
		return want(sign), ok && also && (ints || !nan(x)) && (other || !nan(y))
	}
}

func nan(bits uint64) bool { return math.IsNaN(math.Float64frombits(bits)) }

// compareDoubleInt is cel-go's (common/types/compare.go): a double within int64 is compared with the int as a double.
func compareDoubleInt(d float64, i int64) int {
	switch {
	case d < math.MinInt64:
		return -1
	case d > math.MaxInt64:
		return 1
	}
	return compareDoubles(d, float64(i))
}

func compareDoubles(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// comparedValues compares what the checker left open: int-or-string above all. It costs 1 whatever the operands are.
func (c *compiler) comparedValues(operator string, a, b *expr) boolFn {
	l, r, want := a.val(), b.val(), wanted(operator)
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
				return want(compareInts(int64(x.word), int64(y.word))), true
			case kindString:
				return want(strings.Compare(x.text, y.text)), true
			}
		}
		sign, ok := f.compareRefs(x, y)
		return want(sign), ok
	}
}

// compareRefs leaves a comparison to cel-go's own values.
func (f *Frame) compareRefs(a, b val) (sign int, ok bool) {
	defer unknownOnPanic(&ok)
	p, ok := f.ref(a)
	q, also := f.ref(b)
	if !ok || !also {
		return 0, false
	}
	comparer, ok := p.(traits.Comparer)
	if !ok {
		return 0, false
	}
	s, ok := comparer.Compare(q).(types.Int)
	return int(s), ok
}

func compareInts(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
