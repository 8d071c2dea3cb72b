package closure

import (
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types/ref"
)

// equality compiles == and !=. They cost a tenth of the smaller operand: code points of strings, elements of
// containers, 1 for everything else.
func equality(_ *compiler, k callee, args []*expr) *expr {
	l, r, negate := args[0].val(), args[1].val(), k.name == operators.NotEquals
	return &expr{shape: boolShape, b: func(f *Frame) (bool, bool) {
		x, ok := l(f)
		y, also := r(f)
		if !ok || !also {
			return false, false
		}
		switch {
		case x.is(kindString) && y.is(kindString):
			f.Cost += tenth(min(x.chars(), y.chars()))
			return (x.text() == y.text()) != negate, true
		case x.is(kindInt) && y.is(kindInt):
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
	return tenth(min(f.size(x), f.size(y)))
}
