package schema

import (
	"encoding/json"
	"reflect"
	"slices"
)

// Shape is what upstream's decoder reads into a Go type of the API. The zero Shape is that of an unknown field.
type Shape struct{ t reflect.Type }

// ShapeOf returns the shape of a type.
func ShapeOf(t reflect.Type) Shape {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return Shape{t}
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// Separate reports whether the type has an UnmarshalJSON of its own. The strict decoder does not look below its values.
func (s Shape) Separate() bool { return s.t != nil && reflect.PointerTo(s.t).Implements(unmarshaler) }

// Is reports whether the shape is that of a type.
func (s Shape) Is(t reflect.Type) bool { return s.t == t }

// Known reports whether the shape is not the zero Shape.
func (s Shape) Known() bool { return s.t != nil }

// HasFields reports whether objects of this shape have fields with fixed names.
func (s Shape) HasFields() bool {
	o := s.object()
	return o != nil && o.Kind() == reflect.Struct
}

// Names returns the names of the fields, sorted.
func (s Shape) Names() (names []string) {
	if !s.HasFields() {
		return nil
	}
	for _, f := range fieldsOf(s.object()).list {
		names = append(names, f.name)
	}
	return names
}

// Child returns the shape of a member of an object.
func (s Shape) Child(name string) Shape {
	switch o := s.object(); {
	case o == nil:
	case o.Kind() == reflect.Map:
		return ShapeOf(o.Elem())
	default:
		if index := fieldsOf(o).indexes[name]; index != nil {
			return ShapeOf(o.FieldByIndex(index).Type)
		}
	}
	return Shape{}
}

// Items returns the shape of the elements of a list.
func (s Shape) Items() Shape {
	if list := s.list(); list != nil {
		return ShapeOf(list.Elem())
	}
	return Shape{}
}

// Types returns the JSON types of valid values. It returns nil if the type decides itself.
func (s Shape) Types() (types []string) {
	switch {
	case s.t == nil:
		return nil
	case s.Separate():
		if s.object() != nil {
			types = append(types, "object")
		}
		if s.list() != nil {
			types = append(types, "array")
		}
		if s.union(func(t reflect.Type) bool { return t.Kind() == reflect.Bool }) != nil {
			types = append(types, "boolean")
		}
		if types == nil {
			if api, ok := reflect.Zero(s.t).Interface().(interface{ OpenAPISchemaType() []string }); ok {
				types = api.OpenAPISchemaType()
			}
		}
		return types
	case s.list() != nil:
		return []string{"array"}
	case s.object() != nil:
		return []string{"object"}
	}
	switch s.t.Kind() {
	case reflect.Bool:
		return []string{"boolean"}
	case reflect.Float32, reflect.Float64:
		return []string{"number"}
	case reflect.String, reflect.Slice: // bytes are base64
		return []string{"string"}
	default:
		return []string{"integer"}
	}
}

// Bytes reports whether values are bytes in base64.
func (s Shape) Bytes() bool { return s.t != nil && isBytes(s.t) }

// Bits returns the size of an integer, or 0.
func (s Shape) Bits() int {
	if s.t != nil && slices.Equal(s.Types(), []string{"integer"}) {
		return s.t.Bits()
	}
	return 0
}

// Reads reports whether the decoder of the type reads a JSON text.
func (s Shape) Reads(text []byte) bool {
	return json.Unmarshal(text, reflect.New(s.t).Interface()) == nil
}

// object returns the struct or the map that reads an object.
func (s Shape) object() reflect.Type {
	switch {
	case s.t == nil:
	case s.Separate():
		return s.union(func(t reflect.Type) bool { return t.Kind() == reflect.Struct })
	case s.t.Kind() == reflect.Struct || s.t.Kind() == reflect.Map:
		return s.t
	}
	return nil
}

// list returns the slice that reads a list.
func (s Shape) list() reflect.Type {
	isList := func(t reflect.Type) bool { return t.Kind() == reflect.Slice && !isBytes(t) }
	switch {
	case s.t == nil:
	case s.Separate():
		return s.union(isList)
	case isList(s.t):
		return s.t
	}
	return nil
}

// union returns the type of the field of a union, such as JSONSchemaPropsOrBool, for which is returns true. Unions are
// structs; their fields have no JSON names.
func (s Shape) union(is func(reflect.Type) bool) reflect.Type {
	for i := range s.t.NumField() {
		if f := s.t.Field(i); f.IsExported() && !f.Anonymous && f.Tag.Get("json") == "" {
			if t := ShapeOf(f.Type).t; is(t) {
				return t
			}
		}
	}
	return nil
}

func isBytes(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}
