package closure

import (
	"cmp"
	"slices"

	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
)

// membership compiles in: for lists at 1 for each element, for maps of the document at 1.
func membership(c *compiler, k callee, args []*expr) *expr {
	x, in := args[0], args[1]
	switch {
	case k.overload == overloads.InList:
		v, l := x.val(), in.val()
		return &expr{shape: boolShape, b: func(f *Frame) (bool, bool) {
			want, ok := v(f)
			list, also := l(f)
			if !ok || !also || !isList(list) {
				return false, false
			}
			f.Cost += f.size(list)
			return f.contains(list, want)
		}}
	case k.overload == overloads.InMap && in.n != nil && x.shape.kind == kindString && in.shape.typ.Elem != nil:
		s, n, elem := x.val(), in.n, in.shape.typ.Elem
		c.reads.any = true
		return &expr{shape: boolShape, b: func(f *Frame) (bool, bool) {
			key, ok := s(f)
			i, also := n(f)
			f.Cost++
			if !ok || !also || !key.is(kindString) {
				return false, false
			}
			m, ok := f.find(i, key.text())
			if m != 0 {
				_, ok = f.read(m, elem)
			}
			return m != 0, ok
		}}
	}
	return nil
}

// folded compiles what cel-go evaluates when it plans: conversions of constants become constants, tests for constants
// sets. Upstream rejects the rule where that fails.
func (c *compiler) folded(k callee, args []*expr) *expr {
	if len(args) == 1 && args[0].isConst && overloads.IsTypeConversionFunction(k.name) {
		r, ok := (&Frame{}).ref(args[0].constant)
		if ok {
			r, ok = invoke(c.functions, k, r)
		}
		if !ok || types.IsUnknownOrError(r) {
			c.unsupported("the conversion of a constant by %s", k.name)
		}
		v, ok := constantOf(r)
		if !ok {
			c.unsupported("a constant of type %v", r.Type())
		}
		return constExpr(k.result, v)
	}
	if k.overload == overloads.InList && args[1].isConst {
		return c.inConstants(args[0], args[1].constant.constants())
	}
	return nil
}

// inConstants compiles a test for constants, which costs nothing. cel-go makes sets of some constants and lists of
// others: only strings and ints are compiled.
func (c *compiler) inConstants(x *expr, list []val) *expr {
	if len(list) == 0 {
		return constExpr(boolShape, boolVal(false))
	}
	kind := x.shape.kind
	if kind != kindString && kind != kindInt || slices.ContainsFunc(list, func(v val) bool { return v.kind != kind }) {
		c.unsupported("a test for constants that are neither strings nor ints")
	}
	if kind == kindInt {
		v, keys := x.val(), keysOf(list, func(v val) uint64 { return v.word })
		return &expr{shape: boolShape, b: func(f *Frame) (bool, bool) {
			r, ok := v(f)
			return among(keys, r.word), ok && r.is(kindInt)
		}}
	}
	t, keys := textOf(x, true), keysOf(list, val.text)
	return &expr{shape: boolShape, b: func(f *Frame) (bool, bool) {
		s, _, ok := t.get(f)
		return among(keys, s), ok
	}}
}

// keysOf returns constants of one kind, sorted.
func keysOf[K cmp.Ordered](list []val, of func(val) K) []K {
	keys := make([]K, len(list))
	for i := range list {
		keys[i] = of(list[i])
	}
	slices.Sort(keys)
	return keys
}

// among reports whether a key is one of the constants.
func among[K cmp.Ordered](keys []K, k K) bool {
	if len(keys) <= fewConstants {
		return slices.Contains(keys, k)
	}
	_, found := slices.BinarySearch(keys, k)
	return found
}

// fewConstants is the number of constants up to which comparing each is faster than a search.
const fewConstants = 12

// contains reports whether a list has an element. Upstream compares until it finds one, and has an error for an element
// of another type.
func (f *Frame) contains(list, want val) (in, ok bool) {
	for p := f.elements(list); !p.done(); {
		e, ok := p.take(f)
		if !ok || !f.tick() {
			return false, false
		}
		a, b := e, want
		if list.kind == kindList { // cel-go's own lists compare the other way round
			a, b = want, e
		}
		if same, ok := f.equal(a, b, false); same || !ok {
			return same, ok
		}
	}
	return false, true
}
