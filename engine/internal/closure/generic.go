package closure

import (
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// generic compiles a call of a function without a closure of its own: cel-go's implementation with cel-go's values at
// cel-go's cost.
func (c *compiler) generic(k callee, args []*expr) *expr {
	if find(c.functions, k) == nil {
		c.unsupported("the function %s", k.name)
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
			if !ok || !k.isModerate(r) {
				return val{}, false
			}
			refs = append(refs, r)
		}
		return f.call(table, k, refs)
	}}
}

// maxCallBytes bounds the text that cel-go's functions are called with. They cannot be interrupted, and the time of
// some grows with the square of the length (findAll, indexOf).
const maxCallBytes = 1 << 10

// isModerate is false for a short text that asks for much: the quantity 1e99999999, the format %.999999f.
func (k callee) isModerate(arg ref.Val) bool {
	text, ok := arg.(types.String)
	if !ok {
		return true
	}
	switch k.name {
	case "quantity", "isQuantity":
		_, exponent := QuantityExtent(string(text))
		return exponent <= MaxQuantityExponent
	case "format":
		return FormatDigits(string(text)) <= maxCallBytes
	}
	return true
}

// call runs a function unless its cost exceeds the limit, as far as the arguments determine it.
func (f *Frame) call(table map[string]*functions.Overload, k callee, args []ref.Val) (val, bool) {
	if f.Stop.Stopped() {
		return val{}, false
	}
	cost, exact := costBefore(k, args)
	if f.Cost+cost > f.Limit || f.Cost+cost < f.Cost {
		return val{}, false
	}
	r, ok := invoke(table, k, args...)
	if !ok {
		return val{}, false
	}
	if !exact {
		cost = callCost(k.name, k.overload, args, r)
	}
	f.Cost += cost
	if f.Cost > f.Limit {
		return val{}, false
	}
	return f.back(r)
}

// costBefore returns the cost of a call from its arguments. If the result determines the cost, it is a lower bound.
func costBefore(k callee, args []ref.Val) (cost uint64, exact bool) {
	switch {
	case k.overload == "lists_range":
		n, _ := args[0].(types.Int)
		return uint64(n), false
	case k.overload == "list_slice":
		return 0, false // no longer than the list
	case k.overload == "list_reverse":
		return sizeOf(args[0]), false
	case k.name == "join":
		return joinedSize(args), false
	}
	return callCost(k.name, k.overload, args, nil), true
}

// joinedSize returns the length of a joined string, which costs a fifth of it.
func joinedSize(args []ref.Val) (size uint64) {
	list, ok := args[0].(traits.Lister)
	if !ok {
		return 0
	}
	n, _ := list.Size().(types.Int)
	if len(args) == 2 && n > 0 {
		size = uint64(n-1) * sizeOf(args[1])
	}
	for i := range n {
		size += sizeOf(list.Get(i))
	}
	return tenth(2 * size)
}

// find returns the implementation that cel-go's planner finds for a call.
func find(table map[string]*functions.Overload, k callee) *functions.Overload {
	if k.overload != "" {
		if o := table[k.overload]; o != nil {
			return o
		}
	}
	return table[k.name]
}

// invoke runs an implementation as cel-go's interpreter does. It is false if that panics or finds none.
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

// addRefs concatenates upstream's own lists: the union of sets and the merger of map lists.
func (f *Frame) addRefs(a, b val) (v val, ok bool) {
	defer unknownOnPanic(&ok)
	x, y, ok := f.refs(a, b)
	if !ok {
		return val{}, false
	}
	list, ok := x.(traits.Adder)
	if !ok {
		return val{}, false
	}
	return f.back(list.Add(y))
}

// unknownOnPanic makes a panic of cel-go's or upstream's values Unknown. cel-go turns it into an error.
func unknownOnPanic(ok *bool) {
	if recover() != nil {
		*ok = false
	}
}
