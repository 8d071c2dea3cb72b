package closure

import (
	"math"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// generic compiles a call of a function that has no closure of its own: cel-go's implementation on cel-go's values, at cel-go's cost.
func (c *compiler) generic(k callee, args []*expr) *expr {
	if find(c.functions, k) == nil {
		c.no("the function %s", k.name)
	}
	vals := make([]valFn, len(args))
	for i, a := range args {
		vals[i] = a.val()
	}
	table := c.functions
	return &expr{shape: k.result, v: func(f *Frame) (val, bool) {
		var buf [4]ref.Val
		refs, length := buf[:0], 0
		for _, a := range vals {
			v, ok := a(f)
			if length += len(v.text); !ok || length > maxCallBytes {
				return val{}, false
			}
			r, ok := f.ref(v)
			if !ok || !k.moderate(r) {
				return val{}, false
			}
			refs = append(refs, r)
		}
		return f.call(table, k, refs)
	}}
}

// maxCallBytes is up to how much text functions of cel-go's are given: they cannot be stopped, and some take time that grows with its square (findAll,
// indexOf). Replay decides beyond.
const maxCallBytes = 1 << 10

// moderate is false for a text that asks for more than it is long: 1e99999999 as a quantity, %.999999f as a format.
func (k callee) moderate(arg ref.Val) bool {
	switch k.name {
	case "quantity", "isQuantity":
		if text, ok := arg.(types.String); ok {
			_, exponent := QuantityExtent(string(text))
			return exponent <= MaxQuantityExponent
		}
	case "format":
		if text, ok := arg.(types.String); ok {
			return FormatDigits(string(text)) <= maxCallBytes
		}
	}
	return true
}

// call runs a function unless its cost, as far as the operands tell it, crosses the limit.
func (f *Frame) call(table map[string]*functions.Overload, k callee, args []ref.Val) (val, bool) {
	if f.Stop.Stopped() {
		return val{}, false
	}
	ahead, known := f.costAhead(k, args)
	if f.Cost+ahead > f.Limit || f.Cost+ahead < f.Cost {
		return val{}, false
	}
	r, ok := invoke(table, k, args...)
	if !ok {
		return val{}, false
	}
	if !known {
		ahead = callCost(k.name, k.overload, args, r)
	}
	f.Cost += ahead
	if f.Cost > f.Limit {
		return val{}, false
	}
	return f.back(r)
}

// costAhead is the cost of a call before it runs, or, where the result decides, the least that it can cost.
func (f *Frame) costAhead(k callee, args []ref.Val) (cost uint64, known bool) {
	switch {
	case k.overload == "list_slice":
		return 0, false // no longer than the list
	case k.overload == "list_reverse":
		return sizeOf(args[0]), false
	case k.name == "join":
		return joinCost(args), false
	}
	return callCost(k.name, k.overload, args, nil), true
}

// joinCost is the cost of a string that is joined of others: a fifth of its length.
func joinCost(args []ref.Val) uint64 {
	list, ok := args[0].(traits.Lister)
	if !ok {
		return 0
	}
	size := uint64(0)
	n, _ := list.Size().(types.Int)
	if len(args) == 2 && n > 0 {
		size = uint64(n-1) * sizeOf(args[1])
	}
	for i := range n {
		size += sizeOf(list.Get(i))
	}
	return uint64(math.Ceil(float64(size) * 2 * common.StringTraversalCostFactor))
}

// find is the implementation that cel-go's planner finds for a call.
func find(table map[string]*functions.Overload, k callee) *functions.Overload {
	if k.overload != "" {
		if o := table[k.overload]; o != nil {
			return o
		}
	}
	return table[k.name]
}

// invoke runs an implementation as cel-go's interpreter does. It is false where that panics or finds none.
func invoke(table map[string]*functions.Overload, k callee, args ...ref.Val) (r ref.Val, ok bool) {
	defer unknownOnPanic(&ok)
	o := find(table, k)
	if o == nil {
		return nil, false
	}
	if len(args) > 0 && o.OperandTrait != 0 && !args[0].Type().HasTrait(o.OperandTrait) {
		if !args[0].Type().HasTrait(traits.ReceiverType) {
			return nil, false
		}
		return args[0].(traits.Receiver).Receive(k.name, k.overload, args[1:]), true
	}
	switch {
	case len(args) == 1 && o.Unary != nil:
		r = o.Unary(args[0])
	case len(args) == 2 && o.Binary != nil:
		r = o.Binary(args[0], args[1])
	case o.Function != nil:
		r = o.Function(args...)
	}
	return r, r != nil
}

// joinedByKey is the union of sets and the merger of map lists.
func (f *Frame) joinedByKey(a, b val) (v val, ok bool) {
	defer unknownOnPanic(&ok)
	x, ok := f.ref(a)
	y, also := f.ref(b)
	if !ok || !also {
		return val{}, false
	}
	list, ok := x.(traits.Adder)
	if !ok {
		return val{}, false
	}
	return f.back(list.Add(y))
}

// unknownOnPanic makes a panic of cel-go's or upstream's own values Unknown: cel-go turns them into errors.
func unknownOnPanic(ok *bool) {
	if recover() != nil {
		*ok = false
	}
}
