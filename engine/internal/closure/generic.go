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
	if find(c.functions, k) == nil || ofFallback[k.name] {
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
			if v.kind == kindString || v.kind == kindBytes {
				length += len(v.text())
			}
			if !ok || length > maxCallBytes {
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

// ofFallback are the functions that cost or make much more than the sizes of their arguments, and that few rules use.
var ofFallback = map[string]bool{
	"distinct": true, "flatten": true, "format": true, "join": true, "lists.range": true, "reverse": true, "slice": true,
	"sort": true, "@sortByAssociatedKeys": true, "sets.contains": true, "sets.equivalent": true, "sets.intersects": true,
}

// maxCallBytes bounds the text that cel-go's functions are called with. They cannot be interrupted, and the time of
// some grows with the square of the length (findAll, indexOf).
const maxCallBytes = 1 << 10

// isModerate is false for a short text that asks for much: the quantity 1e99999999.
func (k callee) isModerate(arg ref.Val) bool {
	text, ok := arg.(types.String)
	if !ok || k.name != "quantity" && k.name != "isQuantity" {
		return true
	}
	_, exponent := QuantityExtent(string(text))
	return exponent <= MaxQuantityExponent
}

// call runs a function unless its cost exceeds the limit.
func (f *Frame) call(table map[string]*functions.Overload, k callee, args []ref.Val) (val, bool) {
	cost := callCost(k.name, k.overload, args)
	if f.Cost += cost; f.Cost > f.Limit || f.Cost < cost || f.Stop.Stopped() {
		return val{}, false
	}
	r, ok := invoke(table, k, args...)
	if !ok {
		return val{}, false
	}
	return f.back(r)
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

// unknownOnPanic makes a panic of cel-go's or upstream's values Unknown. cel-go turns it into an error.
func unknownOnPanic(ok *bool) {
	if recover() != nil {
		*ok = false
	}
}
