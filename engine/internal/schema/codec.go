package schema

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/value"
)

// The JSON functions of the API types take quadratic time in the nesting depth of a schema, since the types of items
// and additionalProperties have their own. Read and Canonical take one pass over the fields of the types.

// apiField is a field of a struct, with its JSON name.
type apiField struct {
	name      string
	index     []int
	omitEmpty bool
}

var apiFields sync.Map // reflect.Type to []apiField

// fieldsOf returns the fields of a struct type, sorted by name.
func fieldsOf(t reflect.Type) []apiField {
	if list, known := apiFields.Load(t); known {
		return list.([]apiField)
	}
	var list []apiField
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" {
			list = append(list, apiField{name: name, index: f.Index, omitEmpty: strings.Contains(options, "omitempty")})
			continue
		}
		for _, m := range fieldsOf(f.Type) { // an embedded struct
			list = append(list, apiField{name: m.name, index: slices.Concat(f.Index, m.index), omitEmpty: m.omitEmpty})
		}
	}
	slices.SortFunc(list, func(a, b apiField) int { return cmp.Compare(a.name, b.name) })
	apiFields.Store(t, list)
	return list
}

// Read decodes a node of a tree into an API type that has only zero values. It returns false for an unknown key and for
// a value of another type than usual. The caller then uses the API server's decoder, which reports the error.
//
// If Read returns true, the result equals that of sigs.k8s.io/json, which would report no strict errors.
func Read(d *value.Doc, node uint32, into any) bool {
	r := reader{d}
	return !d.HasDuplicates(value.Request) && r.read(reflect.ValueOf(into).Elem(), node)
}

type reader struct{ d *value.Doc }

func (r reader) read(v reflect.Value, i uint32) bool {
	kind := r.d.Nodes[i].Kind
	if kind == value.Null {
		return true
	}
	switch p := v.Addr().Interface().(type) {
	case *apiextensionsv1.JSON:
		p.Raw = slices.Clone(r.d.Raw(i))
		return true
	case *apiextensionsv1.JSONSchemaPropsOrBool:
		p.Allows = kind != value.False
		return kind == value.True || kind == value.False || r.read(reflect.ValueOf(&p.Schema).Elem(), i)
	case *apiextensionsv1.JSONSchemaPropsOrArray:
		return r.read(reflect.ValueOf(&p.Schema).Elem(), i)
	case json.Unmarshaler:
		return p.UnmarshalJSON(r.d.Raw(i)) == nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return r.read(v.Elem(), i)
	case reflect.Struct:
		return kind == value.Object && r.fields(v, i)
	case reflect.Map:
		return kind == value.Object && r.entries(v, i)
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			return kind == value.Array && r.elements(v, i)
		}
	case reflect.String:
		if kind == value.String {
			v.SetString(strings.Clone(r.d.Str(i)))
		}
		return kind == value.String
	case reflect.Bool:
		v.SetBool(kind == value.True)
		return kind == value.True || kind == value.False
	}
	return json.Unmarshal(r.d.Raw(i), v.Addr().Interface()) == nil // numbers and bytes
}

func (r reader) fields(v reflect.Value, i uint32) bool {
	list := fieldsOf(v.Type())
	for c := r.d.Nodes[i].First; c != 0; c = r.d.Nodes[c].Next {
		m, known := slices.BinarySearchFunc(list, r.d.Key(c), func(m apiField, key string) int {
			return cmp.Compare(m.name, key)
		})
		if !known || !r.read(v.FieldByIndex(list[m].index), c) {
			return false
		}
	}
	return true
}

func (r reader) entries(v reflect.Value, i uint32) bool {
	v.Set(reflect.MakeMapWithSize(v.Type(), r.d.Len(i)))
	element := reflect.New(v.Type().Elem()).Elem()
	for c := r.d.Nodes[i].First; c != 0; c = r.d.Nodes[c].Next {
		if element.SetZero(); !r.read(element, c) {
			return false
		}
		v.SetMapIndex(reflect.ValueOf(strings.Clone(r.d.Key(c))), element)
	}
	return true
}

func (r reader) elements(v reflect.Value, i uint32) bool {
	v.Set(reflect.MakeSlice(v.Type(), r.d.Len(i), r.d.Len(i)))
	k := 0
	for c := r.d.Nodes[i].First; c != 0; c, k = r.d.Nodes[c].Next, k+1 {
		if !r.read(v.Index(k), c) {
			return false
		}
	}
	return true
}

// writer encodes API types as canonical JSON: members of structs and maps are sorted by name.
type writer struct {
	out []byte
	d   *value.Doc // scratch
	err error
}

// value writes what p points to.
func (w *writer) value(p any) { w.write(reflect.ValueOf(p).Elem()) }

// write writes an addressable value.
func (w *writer) write(v reflect.Value) {
	switch p := v.Addr().Interface().(type) {
	case *apiextensionsv1.JSON:
		w.json(p.Raw)
	case *apiextensionsv1.JSONSchemaPropsOrBool:
		if p.Schema == nil {
			w.value(&p.Allows)
		} else {
			w.value(p.Schema)
		}
	case *apiextensionsv1.JSONSchemaPropsOrArray:
		if len(p.JSONSchemas) == 0 {
			w.value(&p.Schema)
		} else {
			w.value(&p.JSONSchemas)
		}
	case *apiextensionsv1.JSONSchemaPropsOrStringArray:
		if len(p.Property) == 0 {
			w.value(&p.Schema)
		} else {
			w.value(&p.Property)
		}
	case *map[string]Props:
		w.properties(*p)
	default:
		w.kind(v)
	}
}

func (w *writer) kind(v reflect.Value) {
	switch k := v.Kind(); {
	case k == reflect.String:
		w.text(v.String())
	case k == reflect.Bool:
		w.out = strconv.AppendBool(w.out, v.Bool())
	case k == reflect.Struct:
		w.fields(v)
	case (k == reflect.Pointer || k == reflect.Slice || k == reflect.Map) && v.IsNil():
		w.out = append(w.out, "null"...)
	case k == reflect.Pointer:
		w.write(v.Elem())
	case k == reflect.Map:
		w.entries(v)
	case k == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8:
		w.out = append(w.out, '[')
		for i := range v.Len() {
			w.comma()
			w.write(v.Index(i))
		}
		w.out = append(w.out, ']')
	default: // numbers and bytes
		text, err := json.Marshal(v.Interface())
		w.fail(err)
		w.out = append(w.out, text...)
	}
}

func (w *writer) fields(v reflect.Value) {
	w.out = append(w.out, '{')
	for _, m := range fieldsOf(v.Type()) {
		f := v.FieldByIndex(m.index)
		list := f.Kind() == reflect.Slice || f.Kind() == reflect.Map
		if m.omitEmpty && (f.IsZero() || list && f.Len() == 0) {
			continue
		}
		w.key(m.name)
		w.write(f)
	}
	w.out = append(w.out, '}')
}

func (w *writer) entries(v reflect.Value) {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
	element := reflect.New(v.Type().Elem()).Elem()
	w.out = append(w.out, '{')
	for _, k := range keys {
		w.key(k.String())
		element.Set(v.MapIndex(k))
		w.write(element)
	}
	w.out = append(w.out, '}')
}

// properties is entries for the most frequent map.
func (w *writer) properties(m map[string]Props) {
	s := new(Props)
	v := reflect.ValueOf(s).Elem()
	w.out = append(w.out, '{')
	for _, name := range Names(m) {
		w.key(name)
		*s = m[name]
		w.kind(v)
	}
	w.out = append(w.out, '}')
}

// comma writes a comma unless the next value is the first of its object or array.
func (w *writer) comma() {
	if last := w.out[len(w.out)-1]; last != '{' && last != '[' {
		w.out = append(w.out, ',')
	}
}

func (w *writer) key(name string) {
	w.comma()
	w.text(name)
	w.out = append(w.out, ':')
}

func (w *writer) text(s string) { w.out = value.AppendCanonicalString(w.out, s) }

func (w *writer) json(text []byte) {
	if len(text) == 0 {
		w.out = append(w.out, "null"...)
		return
	}
	w.d.Reset()
	root, err := w.d.ParseJSON(text, value.Limits{MaxBytes: len(text)})
	if err != nil {
		w.fail(err)
		return
	}
	w.out = w.d.AppendCanonical(w.out, root)
}

func (w *writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}
