package closure

import (
	"math"

	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
)

// arithmetic compiles -, *, / and % of two ints. Their errors are overflow and division by zero.
func arithmetic(_ *compiler, k callee, args []*expr) *expr {
	if len(args) != 2 || args[0].shape.kind != kindInt || args[1].shape.kind != kindInt {
		return nil
	}
	l, r, do := args[0].val(), args[1].val(), intOperators[k.name]
	return &expr{shape: intShape, v: func(f *Frame) (val, bool) {
		x, ok := l(f)
		y, also := r(f)
		f.Cost++
		if !ok || !also || !x.is(kindInt) || !y.is(kindInt) {
			return val{}, false
		}
		n, ok := do(int64(x.word), int64(y.word))
		return intVal(n), ok
	}}
}

var intOperators = map[string]func(a, b int64) (int64, bool){
	operators.Add:      func(a, b int64) (int64, bool) { return a + b, (a+b > a) == (b > 0) },
	operators.Subtract: func(a, b int64) (int64, bool) { return a - b, (a-b < a) == (b > 0) },
	operators.Multiply: func(a, b int64) (int64, bool) {
		if a == 0 || b == 0 {
			return 0, true
		}
		c := a * b
		return c, c/b == a && (a != -1 || b != math.MinInt64) && (b != -1 || a != math.MinInt64)
	},
	operators.Divide: func(a, b int64) (int64, bool) {
		if !divisible(a, b) {
			return 0, false
		}
		return a / b, true
	},
	operators.Modulo: func(a, b int64) (int64, bool) {
		if !divisible(a, b) {
			return 0, false
		}
		return a % b, true
	},
}

func divisible(a, b int64) bool { return b != 0 && (a != math.MinInt64 || b != -1) }

// addition compiles + of ints, strings and lists.
func addition(c *compiler, k callee, args []*expr) *expr {
	a, b := args[0], args[1]
	switch {
	case k.overload == overloads.AddList && a.shape.kind == kindList && b.shape.kind == kindList:
		return concatenatedLists(a, b)
	case k.overload == "" || k.overload == overloads.AddList:
		c.unsupported("the addition of values without a type")
	case k.overload == overloads.AddString && a.shape.kind == kindString && b.shape.kind == kindString:
		return concatenatedStrings(textOf(a), textOf(b))
	}
	return arithmetic(c, k, args)
}

// concatenatedStrings charges a tenth of the length, which bounds the memory.
func concatenatedStrings(l, r text) *expr {
	return &expr{shape: stringShape, v: func(f *Frame) (val, bool) {
		s, n, ok := l.get(f)
		t, m, also := r.get(f)
		f.Cost += TraversalCost(n + m)
		if !ok || !also || f.Cost > f.Limit || len(s)+len(t) > longText && f.Stop.Stopped() {
			return val{}, false
		}
		return stringVal(s + t), true
	}}
}
