package closure

import "github.com/google/cel-go/common/types"

// shape is what is known of an expression's value at compile time.
type shape struct {
	kind kind
	// typ is the type of lists, maps, objects and int-or-strings of the document. It is nil for computed values.
	typ *Type
	// elem is the shape of list elements, map values or the content of an optional, if typ is nil.
	elem *shape
}

var (
	dynShape    = &shape{kind: kindDyn}
	boolShape   = &shape{kind: kindBool}
	intShape    = &shape{kind: kindInt}
	stringShape = &shape{kind: kindString}
	opaqueShape = &shape{kind: kindRef}
)

var kindOfType = [...]kind{
	Opaque: kindRef, Bool: kindBool, Int: kindInt, Double: kindDouble, String: kindString, Bytes: kindBytes,
	Duration: kindDuration, Date: kindRef, DateTime: kindRef, Dyn: kindDyn,
	List: kindList, Map: kindMap, Object: kindObject,
}

// shapeOfType returns the shape of a node's value.
func shapeOfType(t *Type) *shape {
	if t == nil {
		return opaqueShape
	}
	s := &shape{kind: kindOfType[t.Kind]}
	switch t.Kind {
	case List, Map, Object, Dyn:
		s.typ = t
	}
	return s
}

// shapes are the shapes of the checker's types without parameters.
var shapes = map[types.Kind]*shape{
	types.BoolKind: boolShape, types.IntKind: intShape, types.UintKind: {kind: kindUint}, types.DoubleKind: {kind: kindDouble},
	types.StringKind: stringShape, types.BytesKind: {kind: kindBytes}, types.DurationKind: {kind: kindDuration},
	types.NullTypeKind: {kind: kindNull}, types.OpaqueKind: opaqueShape, types.TimestampKind: opaqueShape,
	types.TypeKind: opaqueShape, types.StructKind: {kind: kindObject},
}

// shapeOf returns the shape of a type of the checker.
func shapeOf(t *types.Type) *shape {
	if t == nil {
		return dynShape
	}
	switch t.Kind() {
	case types.ListKind:
		return &shape{kind: kindList, elem: shapeOf(t.Parameters()[0])}
	case types.MapKind:
		return &shape{kind: kindMap, elem: shapeOf(t.Parameters()[1])}
	case types.OpaqueKind:
		if t.TypeName() == "optional_type" {
			return &shape{kind: kindOptional, elem: shapeOf(t.Parameters()[0])}
		}
	}
	if s := shapes[t.Kind()]; s != nil {
		return s
	}
	return dynShape
}

// element returns the shape of list elements, map values or the content of an optional.
func (s *shape) element() *shape {
	switch {
	case s.typ != nil && s.kind != kindDyn:
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
	case kindList, kindMap, kindOptional:
		s.elem = join(a.element(), b.element())
	}
	return s
}
