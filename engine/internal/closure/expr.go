package closure

type (
	boolFn func(*Frame) (bool, bool)
	wordFn func(*Frame) (uint64, bool) // int, uint, double (its bits), duration (nanoseconds), as the shape says
	strFn  func(*Frame) (str, bool)
	nodeFn func(*Frame) (uint32, bool) // a list, a map or an object of the Doc, of the shape's type
	valFn  func(*Frame) (val, bool)
)

// expr is an expression that is compiled. All closures answer false second when the outcome is Unknown.
type expr struct {
	shape *shape

	// One closure at least; val can be had from each of the others.
	b boolFn
	w wordFn
	s strFn
	n nodeFn
	v valFn

	// count is the length of a list that need not be made for it.
	count wordFn

	// const: the value is constant, costs nothing and is const itself.
	isConst  bool
	constant val

	// attr, where it is set, stands instead of closures: what the expression costs depends on its place.
	attr *attr
	// nullable: the value can be null though the shape is another, which v alone can say.
	nullable bool
	// optionalTest: has() on an optional chain. As a branch of a conditional upstream has its optional for the answer.
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
	v, k := x.val(), kindOfShape[x.shape.kind]
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
		w, k := x.w, kindOfShape[x.shape.kind]
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
