package closure

import (
	"math"
	"strconv"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// durationOf compiles duration of a string.
func durationOf(_ *compiler, k callee, args []*expr) *expr {
	if len(args) != 1 || args[0].shape.kind != shapeString {
		return nil
	}
	s := args[0].str()
	return &expr{shape: k.result, w: func(f *Frame) (uint64, bool) {
		r, ok := s(f)
		f.Cost++
		if !ok {
			return 0, false
		}
		d, err := time.ParseDuration(r.text)
		return uint64(d), err == nil
	}}
}

// converted compiles int of an int, a double, a string, or what may be one of them.
func converted(_ *compiler, _ callee, args []*expr) *expr {
	if len(args) != 1 || k8sKind(args[0].shape.kind) {
		return nil
	}
	v := args[0].val()
	return &expr{shape: intShape, w: func(f *Frame) (uint64, bool) {
		r, ok := v(f)
		f.Cost++
		if !ok || r.opt {
			return 0, false
		}
		switch r.kind {
		case kindInt:
			return r.word, true
		case kindDouble:
			d := r.float()
			return uint64(int64(d)), d > math.MinInt64 && d < math.MaxInt64
		case kindString:
			i, err := strconv.ParseInt(r.text, 10, 64)
			return uint64(i), err == nil
		}
		return 0, false
	}}
}

// k8sKind reports whether values of the shape are cel-go's own, which convert themselves.
func k8sKind(k shapeKind) bool { return k == shapeOpaque || k == shapeDuration || k == shapeUint }

// dynOf compiles dyn, which changes nothing.
func dynOf(_ *compiler, _ callee, args []*expr) *expr {
	if len(args) != 1 {
		return nil
	}
	x := charged(args[0], 1)
	return &expr{shape: dynShape, v: x.val()}
}

// typeOf compiles type of what may be several things.
func typeOf(_ *compiler, _ callee, args []*expr) *expr {
	if len(args) != 1 {
		return nil
	}
	v := args[0].val()
	return &expr{shape: opaqueShape, v: func(f *Frame) (val, bool) {
		r, ok := v(f)
		f.Cost++
		if !ok || r.opt {
			return val{}, false
		}
		switch r.kind {
		case kindNode:
			if r.of.(*Type).Kind == List {
				return typeVals[kindList], true
			}
			return typeVals[kindMap], true
		case kindRef:
			p, ok := r.of.(ref.Val)
			if !ok {
				return val{}, false
			}
			t, ok := p.Type().(ref.Val)
			return refVal(t), ok
		}
		return typeVals[r.kind], true
	}}
}

var typeVals = [...]val{
	kindNull: refVal(types.NullType), kindBool: refVal(types.BoolType), kindInt: refVal(types.IntType), kindUint: refVal(types.UintType),
	kindDouble: refVal(types.DoubleType), kindString: refVal(types.StringType), kindBytes: refVal(types.BytesType), kindDuration: refVal(types.DurationType),
	kindList: refVal(types.ListType), kindMap: refVal(types.MapType),
}
