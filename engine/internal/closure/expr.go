package closure

type (
	boolFn func(*Frame) (bool, bool)
	wordFn func(*Frame) (uint64, bool) // int, uint, double (its bits), duration (nanoseconds), as the shape says
	strFn  func(*Frame) (str, bool)
	nodeFn func(*Frame) (uint32, bool) // a list, a map or an object of the Doc of the shape's type
	valFn  func(*Frame) (val, bool)
)

// expr is a compiled expression. The second result of its closures is false when the outcome is Unknown.
type expr struct {
	shape *shape

	// At least one closure is set. val derives a valFn from each of the others.
	b boolFn
	w wordFn
	s strFn
	n nodeFn
	v valFn

	// count returns the length of a list without making the list.
	count wordFn

	// isConst: the value is constant and costs nothing.
	isConst  bool
	constant val

	// attr, if set, replaces the closures. The cost of the expression depends on its position: see compiler.resolve.
	attr *attr
	// nullable: the value can be null, which only v returns.
	nullable bool
	// optionalTest: has() on an optional chain. As the branch of a conditional, upstream returns its optional.
	optionalTest bool
}

func constExpr(s *shape, v val) *expr {
	x := &expr{shape: s, isConst: true, constant: v}
	x.v = func(*Frame) (val, bool) { return v, true }
	switch v.kind {
	case kindBool:
		b := v.word != 0
		x.b = func(*Frame) (bool, bool) { return b, true }
	case kindString:
		t := v.str()
		x.s = func(*Frame) (str, bool) { return t, true }
	case kindInt, kindUint, kindDouble, kindDuration:
		w := v.word
		x.w = func(*Frame) (uint64, bool) { return w, true }
	}
	return x
}

func (x *expr) bool() boolFn {
	if x.b != nil {
		return x.b
	}
	v := x.val()
	return func(f *Frame) (bool, bool) {
		r, ok := v(f)
		return r.word != 0, ok && r.kind == kindBool && !r.opt
	}
}

func (x *expr) word() wordFn {
	if x.w != nil {
		return x.w
	}
	v, k := x.val(), x.shape.kind
	return func(f *Frame) (uint64, bool) {
		r, ok := v(f)
		return r.word, ok && r.kind == k && !r.opt
	}
}

func (x *expr) str() strFn {
	if x.s != nil {
		return x.s
	}
	v := x.val()
	return func(f *Frame) (str, bool) {
		r, ok := v(f)
		return r.str(), ok && r.kind == kindString && !r.opt
	}
}

func (x *expr) val() valFn {
	switch {
	case x.v != nil:
		return x.v
	case x.b != nil:
		b := x.b
		return func(f *Frame) (val, bool) {
			r, ok := b(f)
			return boolVal(r), ok
		}
	case x.w != nil:
		w, k := x.w, x.shape.kind
		return func(f *Frame) (val, bool) {
			r, ok := w(f)
			return val{kind: k, word: r}, ok
		}
	case x.s != nil:
		s := x.s
		return func(f *Frame) (val, bool) {
			r, ok := s(f)
			return val{kind: kindString, text: r.text, wide: r.wide}, ok
		}
	}
	n, t := x.n, x.shape.typ
	return func(f *Frame) (val, bool) {
		r, ok := n(f)
		return nodeVal(r, t), ok
	}
}
