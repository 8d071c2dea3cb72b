package closure

import (
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/traits"

	"github.com/crdeval/crdeval/internal/value"
)

// membership compiles in: over constants (free, a set), over the document's lists (1 for each of the list's elements), over its maps (1).
func membership(c *compiler, k callee, args []*expr) *expr {
	x, in := args[0], args[1]
	switch {
	case k.overload == overloads.InList && in.n != nil && in.shape.typ.Elem != nil:
		return c.inNodes(x, in)
	case k.overload == overloads.InList:
		return c.inList(x, in)
	case k.overload == overloads.InMap && in.n != nil && x.shape.kind == shapeString:
		s, n, elem := x.str(), in.n, in.shape.typ.Elem
		if elem == nil {
			return nil
		}
		return &expr{shape: boolShape, b: func(f *Frame) (bool, bool) {
			key, ok := s(f)
			i, also := n(f)
			f.Cost++
			if !ok || !also {
				return false, false
			}
			m := f.find(i, key.text)
			switch {
			case m == 0:
				return false, true
			case f.Doc.Nodes[m].Kind == value.Null:
				return true, elem.Nullable
			}
			return true, f.readable(m, elem)
		}}
	}
	return nil
}

// folded gives what cel-go's optimizer makes of a call before it runs: conversions of constants become constants, tests for constants sets. What
// fails then makes upstream refuse the rule.
func (c *compiler) folded(k callee, args []*expr) *expr {
	if len(args) == 1 && args[0].isConst && overloads.IsTypeConversionFunction(k.name) {
		f := &Frame{}
		r, ok := f.ref(args[0].constant)
		if !ok {
			c.no("the conversion of a constant")
		}
		r, ok = invoke(c.functions, k, r)
		if !ok || types.IsUnknownOrError(r) {
			c.no("the conversion of a constant by %s", k.name)
		}
		v, ok := constantOf(r)
		if !ok {
			c.no("a constant of type %v", r.Type())
		}
		return constExpr(k.result, v)
	}
	if k.overload == overloads.InList && args[1].isConst {
		return c.inConstants(args[0], *args[1].constant.of.(*[]val))
	}
	return nil
}

// inConstants compiles a test for constants, nil if they make no set: x in [] is false, whatever x is.
func (c *compiler) inConstants(x *expr, list []val) *expr {
	if len(list) == 0 {
		return constExpr(boolShape, boolVal(false))
	}
	texts := true
	for _, v := range list {
		switch v.kind {
		case kindString:
		case kindBool, kindInt, kindUint, kindDouble:
			texts = false
		default:
			return nil
		}
	}
	if texts && x.shape.kind == shapeString {
		return inTexts(x.str(), list)
	}
	v := x.val()
	return &expr{shape: boolShape, b: func(f *Frame) (bool, bool) {
		r, ok := v(f)
		if !ok || r.opt || r.kind >= kindNode && r.kind != kindRef {
			return false, false
		}
		for _, k := range list {
			if same, known := inSet(r, k); same || !known {
				return same, known
			}
		}
		return false, true
	}}
}

// inSet reports whether a value is one that the set has for a constant: the same, or the same number of another type.
func inSet(v, k val) (same, ok bool) {
	switch v.kind {
	case kindString, kindBytes, kindBool:
		return v.kind == k.kind && v.word == k.word && v.text == k.text, true
	case kindInt, kindUint, kindDouble:
		if v.kind == k.kind {
			return v.word == k.word || v.kind == kindDouble && v.float() == k.float(), true
		}
		if k.kind == kindString || k.kind == kindBool {
			return false, true
		}
		return false, false // lossless conversions of numbers: rare enough for replay
	}
	return false, false
}

func inTexts(s strFn, list []val) *expr {
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = v.text
	}
	x := &expr{shape: boolShape}
	if len(texts) <= 12 {
		x.b = func(f *Frame) (bool, bool) {
			r, ok := s(f)
			for _, t := range texts {
				if t == r.text {
					return true, ok
				}
			}
			return false, ok
		}
		return x
	}
	set := make(map[string]struct{}, len(texts))
	for _, t := range texts {
		set[t] = struct{}{}
	}
	x.b = func(f *Frame) (bool, bool) {
		r, ok := s(f)
		_, in := set[r.text]
		return in, ok
	}
	return x
}

// inNodes compiles x in a list of the document. Upstream compares until it finds one, and has an error where an element is none.
func (c *compiler) inNodes(x, in *expr) *expr {
	n, elem := in.n, in.shape.typ.Elem
	if x.shape.kind == shapeString && elem.Kind == String {
		s := x.str()
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
	return c.inList(x, in)
}

func (c *compiler) inList(x, in *expr) *expr {
	v, l := x.val(), in.val()
	return &expr{shape: boolShape, b: func(f *Frame) (bool, bool) {
		want, ok := v(f)
		list, also := l(f)
		if !ok || !also {
			return false, false
		}
		f.Cost += f.size(list)
		if !isList(list) {
			return f.containsRef(list, want)
		}
		return f.contains(list, want)
	}}
}

// containsRef asks one of upstream's own lists.
func (f *Frame) containsRef(list, want val) (in, ok bool) {
	defer unknownOnPanic(&ok)
	l, ok := f.ref(list)
	w, also := f.ref(want)
	if !ok || !also {
		return false, false
	}
	c, ok := l.(traits.Container)
	if !ok {
		return false, false
	}
	b, ok := c.Contains(w).(types.Bool)
	return b == types.True, ok
}
