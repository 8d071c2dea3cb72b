package closure

import (
	"math"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// maxRefNodes bounds the nodes of a value that cel-go's functions are called with: they cannot be interrupted.
const maxRefNodes = 1 << 14

// ref returns a value as cel-go has it. It is false without one.
func (f *Frame) ref(v val) (ref.Val, bool) {
	if v.opt {
		if v.kind == kindNone {
			return types.OptionalNone, true
		}
		v.opt = false
		r, ok := f.ref(v)
		if !ok {
			return nil, false
		}
		return types.OptionalOf(r), true
	}
	switch v.kind {
	case kindNull:
		return types.NullValue, true
	case kindBool:
		return types.Bool(v.word != 0), true
	case kindInt:
		return types.Int(v.word), true
	case kindUint:
		return types.Uint(v.word), true
	case kindDouble:
		return types.Double(v.float()), true
	case kindString:
		return types.String(v.text()), true
	case kindBytes:
		return types.Bytes(v.text()), true
	case kindDuration:
		return types.Duration{Duration: time.Duration(v.word)}, true
	case kindRef:
		return v.ref(), true
	case kindNode:
		return f.nodeRef(v)
	case kindList:
		return f.listRef(v)
	}
	return nil, false
}

// refs returns two values as cel-go has them.
func (f *Frame) refs(a, b val) (x, y ref.Val, ok bool) {
	x, ok = f.ref(a)
	y, also := f.ref(b)
	return x, y, ok && also
}

func (f *Frame) nodeRef(v val) (ref.Val, bool) {
	i, t := v.node()
	left := maxRefNodes
	if f.value == nil || !f.fits(i, &left) {
		return nil, false
	}
	r := f.value(f.Doc.Any(i), t)
	return r, r != nil && !types.IsUnknownOrError(r)
}

// fits reports whether a tree has at most the nodes that are left.
func (f *Frame) fits(i uint32, left *int) bool {
	if *left--; *left < 0 {
		return false
	}
	for c := f.Doc.Nodes[i].First; c != 0; c = f.Doc.Nodes[c].Next {
		if !f.fits(c, left) {
			return false
		}
	}
	return true
}

func (f *Frame) listRef(v val) (ref.Val, bool) {
	cells := v.span(f)
	list := make([]ref.Val, len(cells))
	for i := range cells {
		r, ok := f.ref(cells[i])
		if !ok {
			return nil, false
		}
		list[i] = r
	}
	return types.NewRefValList(types.DefaultTypeAdapter, list), true
}

// back returns the value of cel-go's result. It is false for errors, and for maps and upstream's own lists.
func (f *Frame) back(r ref.Val) (val, bool) {
	switch v := r.(type) {
	case traits.Lister:
		if _, unstructured := r.Value().([]any); unstructured {
			return val{}, false
		}
		from := len(f.stack)
		n, _ := v.Size().(types.Int)
		for i := range n {
			if e, ok := f.back(v.Get(i)); !ok || !f.tick() || !f.push(e) {
				return val{}, false
			}
		}
		return f.store(from)
	case *types.Optional:
		if !v.HasValue() {
			return noneVal, true
		}
		content, ok := f.back(v.GetValue())
		ok = ok && !content.opt
		content.opt = true
		return content, ok
	}
	return scalarOf(r)
}

// scalarOf returns the value of anything but a list or an optional.
func scalarOf(r ref.Val) (val, bool) {
	switch v := r.(type) {
	case types.Bool:
		return boolVal(bool(v)), true
	case types.Int:
		return intVal(int64(v)), true
	case types.Uint:
		return val{kind: kindUint, word: uint64(v)}, true
	case types.Double:
		return doubleVal(float64(v)), true
	case types.String:
		return stringVal(string(v)), true
	case types.Bytes:
		return textVal(kindBytes, string(v), false), true
	case types.Duration:
		return durationVal(v.Duration), true
	case types.Null:
		return val{}, true
	case *types.Err, *types.Unknown, traits.Mapper, nil:
		return val{}, false
	}
	return refVal(r), true
}

// constantOf returns the value of a constant that is no map and not NaN.
func constantOf(r ref.Val) (val, bool) {
	if list, ok := r.(traits.Lister); ok {
		cells := make([]val, list.Size().(types.Int))
		for i := range cells {
			if cells[i], ok = constantOf(list.Get(types.Int(i))); !ok {
				return val{}, false
			}
		}
		return constantList(cells), true
	}
	v, ok := scalarOf(r)
	return v, ok && !(v.kind == kindDouble && math.IsNaN(v.float()))
}

func constantList(cells []val) val { return val{kind: kindList, of: &cells} }
