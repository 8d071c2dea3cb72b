package closure

import (
	"cmp"

	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// comparison compiles <, <=, > and >=. Comparing two values that the checker knows to be strings costs a tenth of the
// shorter one, everything else costs 1. The checker does not know all types, such as that of an int-or-string.
func comparison(_ *compiler, k callee, args []*expr) *expr {
	a, b := args[0].shape.kind, args[1].shape.kind
	strings := a == kindString && b == kindString
	numbers := (a == kindInt || a == kindDouble) && (b == kindInt || b == kindDouble)
	durations := a == kindDuration && b == kindDuration
	if !strings && !numbers && !durations && k.overload != "" {
		return nil
	}
	l, r, holds := args[0].val(), args[1].val(), signTests[k.name]
	return &expr{shape: boolShape, b: func(f *Frame) (bool, bool) {
		x, ok := l(f)
		y, also := r(f)
		if strings {
			f.Cost += TraversalCost(min(x.chars(), y.chars()))
		} else {
			f.Cost++
		}
		if !ok || !also || x.opt || y.opt {
			return false, false
		}
		switch {
		case x.kind == y.kind && (x.kind == kindInt || x.kind == kindDuration):
			return holds[1+cmp.Compare(int64(x.word), int64(y.word))], true
		case x.kind == kindDouble && y.kind == kindDouble && x.float() == x.float() && y.float() == y.float():
			return holds[1+cmp.Compare(x.float(), y.float())], true
		case x.kind == kindString && y.kind == kindString:
			return holds[1+cmp.Compare(x.text(), y.text())], true
		}
		sign, ok := f.compareRefs(x, y)
		return holds[1+sign], ok
	}}
}

// signTests tell whether an operator holds for the sign of a comparison plus 1.
var signTests = map[string][3]bool{
	operators.Less: {0: true}, operators.LessEquals: {0: true, 1: true},
	operators.Greater: {2: true}, operators.GreaterEquals: {1: true, 2: true},
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

// equality compiles == and !=. They cost a tenth of the smaller operand: code points of strings, elements of
// containers, 1 for everything else.
func equality(_ *compiler, k callee, args []*expr) *expr {
	negate := k.name == operators.NotEquals
	if args[0].isText() && args[1].isText() {
		l, r := textOf(args[0], args[1].isConst), textOf(args[1], args[0].isConst)
		return &expr{shape: boolShape, b: func(f *Frame) (bool, bool) {
			x, n, ok := l.get(f)
			y, m, also := r.get(f)
			f.Cost += TraversalCost(min(n, m))
			return (x == y) != negate, ok && also
		}}
	}
	l, r := args[0].val(), args[1].val()
	return &expr{shape: boolShape, b: func(f *Frame) (bool, bool) {
		x, ok := l(f)
		y, also := r(f)
		if !ok || !also {
			return false, false
		}
		if x.is(kindInt) && y.is(kindInt) {
			f.Cost++
			return (x.word == y.word) != negate, true
		}
		f.Cost += f.equalCost(x, y, negate)
		if f.Cost > f.Limit {
			return false, false
		}
		same, ok := f.equal(x, y, true)
		return same != negate, ok
	}}
}

// equalCost is the cost of == and !=. The Kubernetes library has another cost for == of its own types.
func (f *Frame) equalCost(x, y val, negate bool) uint64 {
	if x.is(kindRef) && !negate {
		p, _ := f.ref(x)
		if cost := estimator.CallCost(operators.Equals, overloads.Equals, []ref.Val{p, p}, nil); cost != nil {
			return *cost
		}
	}
	return TraversalCost(min(f.size(x), f.size(y)))
}
