package closure

import (
	"slices"

	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"

	"github.com/crdeval/crdeval/engine/value"
)

// membership compiles in: for lists at 1 for each element, for maps of the document at 1.
func membership(_ *compiler, k callee, args []*expr) *expr {
	x, in := args[0], args[1]
	switch {
	case k.overload == overloads.InList && in.n != nil && x.shape.kind == kindString && in.shape.typ.Elem != nil &&
		in.shape.typ.Elem.Kind == String:
		return inStrings(x.str(), in.n)
	case k.overload == overloads.InList:
		return inList(x.val(), in.val())
	case k.overload == overloads.InMap && in.n != nil && x.shape.kind == kindString && in.shape.typ.Elem != nil:
		return inMap(x.str(), in.n, in.shape.typ.Elem)
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
		return c.inConstants(args[0], *args[1].constant.of.(*[]val))
	}
	return nil
}

// inConstants compiles a test for constants, which costs nothing. cel-go makes sets of some constants and lists of
// others: only strings and ints are compiled.
func (c *compiler) inConstants(x *expr, list []val) *expr {
	all := func(k kind) bool {
		return x.shape.kind == k && !slices.ContainsFunc(list, func(v val) bool { return v.kind != k })
	}
	switch {
	case len(list) == 0:
		return constExpr(boolShape, boolVal(false))
	case all(kindString):
		return inConstantStrings(x.str(), list)
	case all(kindInt):
		n := x.word()
		return &expr{shape: boolShape, b: func(f *Frame) (bool, bool) {
			r, ok := n(f)
			return slices.ContainsFunc(list, func(v val) bool { return v.word == r }), ok
		}}
	}
	c.unsupported("a test for constants that are neither strings nor ints")
	return nil
}

func inConstantStrings(s strFn, list []val) *expr {
	const few = 12 // strings that are compared faster than looked up
	texts, set := make([]string, len(list)), map[string]bool{}
	for i, v := range list {
		texts[i], set[v.text] = v.text, true
	}
	if len(texts) <= few {
		return &expr{shape: boolShape, b: func(f *Frame) (bool, bool) {
			r, ok := s(f)
			return slices.Contains(texts, r.text), ok
		}}
	}
	return &expr{shape: boolShape, b: func(f *Frame) (bool, bool) {
		r, ok := s(f)
		return set[r.text], ok
	}}
}

func inMap(s strFn, n nodeFn, elem *Type) *expr {
	return &expr{shape: boolShape, b: func(f *Frame) (bool, bool) {
		key, ok := s(f)
		i, also := n(f)
		f.Cost++
		if !ok || !also {
			return false, false
		}
		m := f.find(i, key.text)
		if m != 0 {
			_, ok = f.read(m, elem)
		}
		return m != 0, ok
	}}
}

// inStrings compiles string in a list of strings of the document.
func inStrings(s strFn, n nodeFn) *expr {
	return &expr{shape: boolShape, b: func(f *Frame) (bool, bool) {
		want, ok := s(f)
		i, also := n(f)
		if !ok || !also {
			return false, false
		}
		list := &f.Doc.Nodes[i]
		f.Cost += uint64(list.Live)
		for e := list.First; e != 0; e = f.Doc.Nodes[e].Next {
			if f.Doc.Nodes[e].Kind != value.String || !f.tick() {
				return false, false
			}
			if f.Doc.Str(e) == want.text {
				return true, true
			}
		}
		return false, true
	}}
}

func inList(v, l valFn) *expr {
	return &expr{shape: boolShape, b: func(f *Frame) (bool, bool) {
		want, ok := v(f)
		list, also := l(f)
		if !ok || !also || !isList(list) {
			return false, false
		}
		f.Cost += f.size(list)
		return f.contains(list, want)
	}}
}

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
