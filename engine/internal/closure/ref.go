package closure

import (
	"math"
	"reflect"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	celcommon "k8s.io/apiserver/pkg/cel/common"
)

// Values of the document with more nodes than these are not handed to functions of cel-go's that cannot be stopped: replay decides there.
const maxRefNodes = 1 << 14

// ref is a value as cel-go has it. It is false for what cannot be one here.
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
		return types.String(v.text), true
	case kindBytes:
		return types.Bytes(v.text), true
	case kindDuration:
		return types.Duration{Duration: time.Duration(v.word)}, true
	case kindRef:
		r, ok := v.of.(ref.Val)
		return r, ok
	case kindNode:
		return f.nodeRef(v)
	case kindList:
		return f.listRef(v)
	case kindMap:
		return f.mapRef(v)
	}
	return nil, false
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

// fits counts the nodes of a tree, and is false once these are too many.
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
	if v.wide {
		return nil, false
	}
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

func (f *Frame) mapRef(v val) (ref.Val, bool) {
	cells := v.span(f)
	m := make(map[ref.Val]ref.Val, len(cells)/2)
	for i := 0; i < len(cells); i += 2 {
		k, ok := f.ref(cells[i])
		r, also := f.ref(cells[i+1])
		if !ok || !also {
			return nil, false
		}
		m[k] = r
	}
	return types.NewRefValMap(types.DefaultTypeAdapter, m), true
}

// back makes what a function of cel-go's gave a value; false for errors. Upstream's own lists and maps stay what they are: they are equal by rules of
// their own.
func (f *Frame) back(r ref.Val) (val, bool) {
	if unstructured(r) {
		return refVal(r), true
	}
	if list, ok := r.(traits.Lister); ok {
		n := int(list.Size().(types.Int))
		if n > maxCells {
			return val{}, false
		}
		cells := make([]val, n)
		for i := range n {
			if cells[i], ok = f.back(list.Get(types.Int(i))); !ok {
				return val{}, false
			}
		}
		v, ok := f.store(kindList, cells)
		v.wide = unordered(r)
		return v, ok
	}
	if m, ok := r.(traits.Mapper); ok {
		var cells []val
		for it := m.Iterator(); it.HasNext() == types.True; {
			k := it.Next()
			if k == nil {
				return val{}, false
			}
			kv, ok := f.back(k)
			v, also := f.back(m.Get(k))
			if !ok || !also || len(cells) > maxCells {
				return val{}, false
			}
			cells = append(cells, kv, v)
		}
		return f.store(kindMap, cells)
	}
	if o, ok := r.(*types.Optional); ok && o.HasValue() {
		v, ok := f.back(o.GetValue())
		if !ok || v.opt {
			return val{}, false
		}
		v.opt = true
		return v, true
	}
	return plainOf(r)
}

// unstructured reports whether a list or a map is one of upstream's, over data of the document.
func unstructured(r ref.Val) bool {
	switch r.(type) {
	case traits.Lister, traits.Mapper:
		switch r.Value().(type) {
		case []any, map[string]any:
			return true
		}
	}
	return false
}

// unordered reports whether a list is upstream's union of sets or merger of map lists, of which == does not see the order. Their types have no
// names outside of upstream's package, whose other lists are unstructured.
func unordered(list ref.Val) bool {
	t := reflect.TypeOf(list)
	return t.Kind() == reflect.Pointer && t.Elem().PkgPath() == upstreamLists
}

var upstreamLists = reflect.TypeFor[celcommon.MapList]().PkgPath()

// open makes one of upstream's own lists a computed one, to go through it; other values stay what they are.
func (f *Frame) open(v val) (list val, ok bool) {
	r, is := v.of.(traits.Lister)
	if v.kind != kindRef || !is || v.opt {
		return v, !v.opt
	}
	defer unknownOnPanic(&ok)
	n, _ := r.Size().(types.Int)
	if n > maxCells {
		return val{}, false
	}
	cells := make([]val, n)
	for i := range n {
		if cells[i], ok = f.back(r.Get(i)); !ok || !f.tick() {
			return val{}, false
		}
	}
	return f.store(kindList, cells)
}

// plainOf makes a value of cel-go's that is no container a value.
func plainOf(r ref.Val) (val, bool) {
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
		return val{kind: kindBytes, text: string(v)}, true
	case types.Duration:
		return durationVal(v.Duration), true
	case types.Null:
		return val{}, true
	case *types.Optional:
		if !v.HasValue() {
			return val{kind: kindNone, opt: true}, true
		}
		in, ok := plainOf(v.GetValue())
		if !ok || in.opt {
			return val{}, false
		}
		in.opt = true
		return in, true
	case *types.Err, *types.Unknown, nil:
		return val{}, false
	}
	switch r.(type) {
	case traits.Lister, traits.Mapper:
		return val{}, false
	}
	return refVal(r), true
}

// constantOf makes a constant a value.
func constantOf(r ref.Val) (val, bool) {
	if list, ok := r.(traits.Lister); ok {
		n := int(list.Size().(types.Int))
		cells := make([]val, n)
		for i := range n {
			if cells[i], ok = constantOf(list.Get(types.Int(i))); !ok {
				return val{}, false
			}
		}
		return constantList(cells), true
	}
	if m, ok := r.(traits.Mapper); ok {
		var cells []val
		for it := m.Iterator(); it.HasNext() == types.True; {
			k := it.Next()
			kv, ok := constantOf(k)
			v, also := constantOf(m.Get(k))
			if !ok || !also {
				return val{}, false
			}
			cells = append(cells, kv, v)
		}
		return val{kind: kindMap, of: &cells}, true
	}
	v, ok := plainOf(r)
	return v, ok && !(v.kind == kindDouble && math.IsNaN(v.float()))
}

func constantList(cells []val) val { return val{kind: kindList, of: &cells} }
