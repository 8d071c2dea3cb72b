package closure

import (
	"math"

	"github.com/google/cel-go/common/operators"
)

// arithmetic compiles -, *, / and % of two ints and of two doubles. Overflows and divisions by zero are errors of ints alone.
func arithmetic(_ *compiler, k callee, args []*expr) *expr {
	if len(args) != 2 || k.overload == "" || args[0].shape.kind != args[1].shape.kind {
		return nil
	}
	switch args[0].shape.kind {
	case shapeInt:
		return ints(k.name, args[0].word(), args[1].word())
	case shapeDouble:
		return doubles(k.name, args[0].word(), args[1].word())
	}
	return nil
}

func ints(operator string, l, r wordFn) *expr {
	var do func(x, y int64) (int64, bool)
	switch operator {
	case operators.Add:
		do = func(x, y int64) (int64, bool) { return x + y, (x+y > x) == (y > 0) }
	case operators.Subtract:
		do = func(x, y int64) (int64, bool) { return x - y, (x-y < x) == (y > 0) }
	case operators.Multiply:
		do = multiply
	case operators.Divide:
		do = func(x, y int64) (int64, bool) {
			if y == 0 || x == math.MinInt64 && y == -1 {
				return 0, false
			}
			return x / y, true
		}
	case operators.Modulo:
		do = func(x, y int64) (int64, bool) {
			if y == 0 || x == math.MinInt64 && y == -1 {
				return 0, false
			}
			return x % y, true
		}
	default:
		return nil
	}
	return &expr{shape: intShape, w: func(f *Frame) (uint64, bool) {
		x, ok := l(f)
		y, also := r(f)
		f.Cost++
		if !ok || !also {
			return 0, false
		}
		z, ok := do(int64(x), int64(y))
		return uint64(z), ok
	}}
}

func multiply(x, y int64) (int64, bool) {
	if x == 0 || y == 0 {
		return 0, true
	}
	z := x * y
	return z, z/y == x && (x != -1 || y != math.MinInt64) && (y != -1 || x != math.MinInt64)
}

func doubles(operator string, l, r wordFn) *expr {
	var do func(x, y float64) float64
	switch operator {
	case operators.Add:
		do = func(x, y float64) float64 { return x + y }
	case operators.Subtract:
		do = func(x, y float64) float64 { return x - y }
	case operators.Multiply:
		do = func(x, y float64) float64 { return x * y }
	case operators.Divide:
		do = func(x, y float64) float64 { return x / y }
	default:
		return nil
	}
	return &expr{shape: &shape{kind: shapeDouble}, w: func(f *Frame) (uint64, bool) {
		x, ok := l(f)
		y, also := r(f)
		f.Cost++
		return math.Float64bits(do(math.Float64frombits(x), math.Float64frombits(y))), ok && also
	}}
}

// addition compiles + of numbers, strings and lists.
func addition(c *compiler, k callee, args []*expr) *expr {
	a, b := args[0], args[1]
	if k.overload == "" || a.shape.kind != b.shape.kind {
		return nil
	}
	switch a.shape.kind {
	case shapeInt:
		return ints(k.name, a.word(), b.word())
	case shapeDouble:
		return doubles(k.name, a.word(), b.word())
	case shapeString:
		return concatenated(a.str(), b.str())
	case shapeList:
		return c.joinedLists(a, b)
	}
	return nil
}

// concatenated makes a string of two. Its cost bounds its memory: a tenth of its length.
func concatenated(l, r strFn) *expr {
	return &expr{shape: stringShape, s: func(f *Frame) (str, bool) {
		s, ok := l(f)
		t, also := r(f)
		if !ok || !also {
			return str{}, false
		}
		f.Cost += tenth(s.size() + t.size())
		if f.Cost > f.Limit || len(s.text)+len(t.text) > longText && f.Stop.Stopped() {
			return str{}, false
		}
		return str{s.text + t.text, s.wide || t.wide}, true
	}}
}
