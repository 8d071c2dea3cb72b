package closure

type (
	boolFn func(*Frame) (bool, bool)
	nodeFn func(*Frame) (uint32, bool) // a list, a map or an object of the Doc of the shape's type
	valFn  func(*Frame) (val, bool)
)

// expr is a compiled expression. The second result of its closures is false when the outcome is Unknown.
type expr struct {
	shape *shape

	// At least one closure is set. val derives a valFn from each of the others.
	b boolFn
	n nodeFn
	v valFn
	// text is the node of a string that is not nullable.
	text *place
	// part is what the value, or each element of a computed list, depends on. It is nil if that is known otherwise.
	part *part

	// isConst: the value is constant and costs nothing.
	isConst  bool
	constant val

	// attr, if set, replaces the closures. The cost of the expression depends on its position: see compiler.resolve.
	attr *attr
	// optionalTest: has() on an optional chain. As the branch of a conditional, upstream returns its optional.
	optionalTest bool
}

func constExpr(s *shape, v val) *expr {
	x := &expr{shape: s, isConst: true, constant: v}
	switch {
	case v == boolVal(true):
		x.b = func(*Frame) (bool, bool) { return true, true }
	case v == boolVal(false):
		x.b = func(*Frame) (bool, bool) { return false, true }
	default:
		x.v = func(*Frame) (val, bool) { return v, true }
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
		return r.word != 0, ok && r.is(kindBool)
	}
}

// val returns a closure for callers that depend on the whole value.
func (x *expr) val() valFn {
	if x.part != nil && x.shape.kind != kindBool {
		x.part.any = true
	}
	return x.shallow()
}

// shallow returns a closure for callers that depend on the kind of the value and on the length of a list.
func (x *expr) shallow() valFn {
	switch {
	case x.v != nil:
		return x.v
	case x.b != nil:
		b := x.b
		return func(f *Frame) (val, bool) {
			r, ok := b(f)
			return boolVal(r), ok
		}
	}
	n, t := x.n, x.shape.typ
	return func(f *Frame) (val, bool) {
		r, ok := n(f)
		return nodeVal(r, t), ok
	}
}
