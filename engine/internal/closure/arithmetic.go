package closure

import "github.com/google/cel-go/common/overloads"

// addition compiles + of two lists, of two strings, and of two ints, where the error is an overflow.
func addition(c *compiler, k callee, args []*expr) *expr {
	switch k.overload {
	case overloads.AddList:
		if args[0].shape.kind == kindList && args[1].shape.kind == kindList {
			return concatenated(args[0], args[1])
		}
		fallthrough
	case "":
		c.unsupported("the addition of values without a type")
	case overloads.AddString:
		return joined(args[0], args[1])
	case overloads.AddInt64:
		l, r := args[0].val(), args[1].val()
		return &expr{shape: intShape, v: func(f *Frame) (val, bool) {
			x, ok := l(f)
			y, also := r(f)
			f.Cost++
			a, b := int64(x.word), int64(y.word)
			return intVal(a + b), ok && also && x.is(kindInt) && y.is(kindInt) && (a+b > a) == (b > 0)
		}}
	}
	return nil
}
