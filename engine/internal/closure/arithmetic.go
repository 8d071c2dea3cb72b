package closure

import (
	"math"

	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
)

// binary applies an operator to two operands at a cost of 1.
func binary[T, R any](
	l, r func(*Frame) (T, bool), do func(x, y T) (R, bool),
) func(*Frame) (R, bool) {
	return func(f *Frame) (result R, ok bool) {
		x, ok := l(f)
		y, also := r(f)
		f.Cost++
		if !ok || !also {
			return result, false
		}
		return do(x, y)
	}
}

// unary applies a function to an operand at a cost of 1.
func unary[T, R any](of func(*Frame) (T, bool), do func(x T) (R, bool)) func(*Frame) (R, bool) {
	return func(f *Frame) (result R, ok bool) {
		x, ok := of(f)
		f.Cost++
		if !ok {
			return result, false
		}
		return do(x)
	}
}

// arithmetic compiles -, *, / and % of two ints. Their errors are overflow and division by zero.
func arithmetic(_ *compiler, k callee, args []*expr) *expr {
	if len(args) != 2 || args[0].shape.kind != kindInt || args[1].shape.kind != kindInt {
		return nil
	}
	return &expr{shape: intShape, w: binary(args[0].word(), args[1].word(), intOperators[k.name])}
}

var intOperators = map[string]func(x, y uint64) (uint64, bool){
	operators.Add: func(x, y uint64) (uint64, bool) {
		a, b := int64(x), int64(y)
		return x + y, (a+b > a) == (b > 0)
	},
	operators.Subtract: func(x, y uint64) (uint64, bool) {
		a, b := int64(x), int64(y)
		return x - y, (a-b < a) == (b > 0)
	},
	operators.Multiply: func(x, y uint64) (uint64, bool) {
		a, b := int64(x), int64(y)
		if a == 0 || b == 0 {
			return 0, true
		}
		c := a * b
		return uint64(c), c/b == a && (a != -1 || b != math.MinInt64) && (b != -1 || a != math.MinInt64)
	},
	operators.Divide: func(x, y uint64) (uint64, bool) {
		if !divisible(x, y) {
			return 0, false
		}
		return uint64(int64(x) / int64(y)), true
	},
	operators.Modulo: func(x, y uint64) (uint64, bool) {
		if !divisible(x, y) {
			return 0, false
		}
		return uint64(int64(x) % int64(y)), true
	},
}

func divisible(x, y uint64) bool { return y != 0 && (int64(x) != math.MinInt64 || int64(y) != -1) }

// addition compiles + of ints, strings and lists.
func addition(c *compiler, k callee, args []*expr) *expr {
	a, b := args[0], args[1]
	switch {
	case k.overload == overloads.AddList && a.shape.kind == kindList && b.shape.kind == kindList:
		return c.concatenatedLists(a, b)
	case k.overload == "" || k.overload == overloads.AddList:
		c.unsupported("the addition of values without a type")
	case k.overload == overloads.AddString && a.shape.kind == kindString && b.shape.kind == kindString:
		return concatenatedStrings(a.str(), b.str())
	}
	return arithmetic(c, k, args)
}

// concatenatedStrings charges a tenth of the length, which bounds the memory.
func concatenatedStrings(l, r strFn) *expr {
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
