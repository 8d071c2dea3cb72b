package closure

import "github.com/google/cel-go/common/types"

// shape is what is known of an expression's value at compile time.
type shape struct {
	kind shapeKind
	// typ is the type of lists, maps, objects and int-or-strings of the document. It is nil for computed values.
	typ *Type
	// elem is the shape of list elements, map values or the content of an optional, if typ is nil.
	elem *shape
}

type shapeKind uint8

const (
	shapeDyn shapeKind = iota // anything
	shapeNull
	shapeBool
	shapeInt
	shapeUint
	shapeDouble
	shapeString
	shapeBytes
	shapeDuration
	shapeOpaque // timestamps, types, and the types of libraries
	shapeList
	shapeMap
	shapeObject
	shapeOptional
)

var (
	dynShape    = &shape{kind: shapeDyn}
	boolShape   = &shape{kind: shapeBool}
	intShape    = &shape{kind: shapeInt}
	stringShape = &shape{kind: shapeString}
	opaqueShape = &shape{kind: shapeOpaque}
)

var shapeOfKind = [...]shapeKind{
	Opaque: shapeOpaque, Bool: shapeBool, Int: shapeInt, Double: shapeDouble, String: shapeString, Bytes: shapeBytes,
	Duration: shapeDuration, Date: shapeOpaque, DateTime: shapeOpaque, Dyn: shapeDyn,
	List: shapeList, Map: shapeMap, Object: shapeObject,
}

// shapeOfType returns the shape of a node's value.
func shapeOfType(t *Type) *shape {
	if t == nil {
		return opaqueShape
	}
	s := &shape{kind: shapeOfKind[t.Kind]}
	switch t.Kind {
	case List, Map, Object, Dyn:
		s.typ = t
	}
	return s
}

// shapeOf returns the shape of a type of the checker.
func shapeOf(t *types.Type) *shape {
	if t == nil {
		return dynShape
	}
	switch t.Kind() {
	case types.BoolKind:
		return boolShape
	case types.IntKind:
		return intShape
	case types.UintKind:
		return &shape{kind: shapeUint}
	case types.DoubleKind:
		return &shape{kind: shapeDouble}
	case types.StringKind:
		return stringShape
	case types.BytesKind:
		return &shape{kind: shapeBytes}
	case types.DurationKind:
		return &shape{kind: shapeDuration}
	case types.NullTypeKind:
		return &shape{kind: shapeNull}
	case types.ListKind:
		return &shape{kind: shapeList, elem: shapeOf(t.Parameters()[0])}
	case types.MapKind:
		return &shape{kind: shapeMap, elem: shapeOf(t.Parameters()[1])}
	case types.OpaqueKind:
		if t.TypeName() == "optional_type" {
			return &shape{kind: shapeOptional, elem: shapeOf(t.Parameters()[0])}
		}
		return opaqueShape
	case types.TimestampKind, types.TypeKind:
		return opaqueShape
	case types.StructKind:
		return &shape{kind: shapeObject}
	}
	return dynShape
}

// element returns the shape of list elements, map values or the content of an optional.
func (s *shape) element() *shape {
	switch {
	case s.typ != nil && s.kind != shapeDyn:
		return shapeOfType(s.typ.Elem)
	case s.elem != nil:
		return s.elem
	}
	return dynShape
}

// join returns the shape of a value that has one of two shapes. The checker ensures that they agree.
func join(a, b *shape) *shape {
	switch {
	case a == b || a.kind == b.kind && a.typ == b.typ && a.typ != nil:
		return a
	case a.kind != b.kind:
		return dynShape
	}
	s := &shape{kind: a.kind}
	switch a.kind {
	case shapeList, shapeMap, shapeOptional:
		s.elem = join(a.element(), b.element())
	}
	return s
}

var kindOfShape = [...]kind{
	shapeNull: kindNull, shapeBool: kindBool, shapeInt: kindInt, shapeUint: kindUint, shapeDouble: kindDouble,
	shapeString: kindString, shapeBytes: kindBytes, shapeDuration: kindDuration, shapeOpaque: kindRef,
}
