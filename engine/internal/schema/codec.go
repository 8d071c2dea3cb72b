package schema

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// The JSON functions of the API types take quadratic time in the nesting depth of a schema, since the types of items
// and additionalProperties have their own. Read and Canonical take one pass over the fields of the types.

// apiField is a field of a struct, with its JSON name.
type apiField struct {
	name      string
	index     []int
	omitEmpty bool
	word      uintptr // of the struct; if it is 0, the field is empty
}

const (
	wordSize = unsafe.Sizeof(uintptr(0))
	noWord   = ^uintptr(0)
)

// apiFields are the fields of a struct type, sorted by name, and their indexes.
type apiFields struct {
	list    []apiField
	indexes map[string][]int
}

var apiTypes sync.Map // reflect.Type to *apiFields

func fieldsOf(t reflect.Type) *apiFields {
	if known, ok := apiTypes.Load(t); ok {
		return known.(*apiFields)
	}
	s := &apiFields{indexes: map[string][]int{}}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" { // an embedded struct
			for _, m := range fieldsOf(f.Type).list {
				s.list = append(s.list, apiField{m.name, slices.Concat(f.Index, m.index), m.omitEmpty, noWord})
			}
			continue
		}
		m := apiField{name, f.Index, strings.Contains(options, "omitempty"), noWord}
		switch f.Type.Kind() {
		case reflect.String, reflect.Slice:
			m.word = f.Offset/wordSize + 1 // the length
		case reflect.Bool, reflect.Map, reflect.Pointer:
			m.word = f.Offset / wordSize
		}
		s.list = append(s.list, m)
	}
	slices.SortFunc(s.list, func(a, b apiField) int { return cmp.Compare(a.name, b.name) })
	for i := range s.list {
		s.indexes[s.list[i].name] = s.list[i].index
	}
	apiTypes.Store(t, s)
	return s
}

// Read decodes a node of a tree into an API type that has only zero values. It returns false for an unknown key and for
// a value of another type than usual. The caller then uses the API server's decoder, which reports the error.
//
// If Read returns true, the result equals that of sigs.k8s.io/json, which would report no strict errors.
func Read(d *tree.Doc, node uint32, into any) bool {
	r := reader{d: d}
	return !d.HasDuplicates(tree.Request) && r.read(reflect.ValueOf(into).Elem(), node)
}

type reader struct {
	d      *tree.Doc
	levels []*Props // scratch of properties, by depth
	depth  int
}

func (r *reader) read(v reflect.Value, i uint32) bool {
	kind := r.d.Nodes[i].Kind
	if kind == tree.Null {
		return true
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return r.read(v.Elem(), i)
	case reflect.Struct:
		switch p := v.Addr().Interface().(type) {
		case *Props:
			return r.props(p, i)
		case *apiextensionsv1.JSON:
			p.Raw = slices.Clone(r.d.Raw(i))
			return true
		case *apiextensionsv1.JSONSchemaPropsOrBool:
			p.Allows = kind != tree.False
			return kind == tree.True || kind == tree.False || r.read(reflect.ValueOf(&p.Schema).Elem(), i)
		case json.Unmarshaler:
			return p.UnmarshalJSON(r.d.Raw(i)) == nil
		}
		return kind == tree.Object && r.fields(v, i)
	case reflect.Map:
		return kind == tree.Object && r.entries(v, i)
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			return kind == tree.Array && r.elements(v, i)
		}
	case reflect.String:
		if kind == tree.String {
			v.SetString(strings.Clone(r.d.Str(i)))
		}
		return kind == tree.String
	case reflect.Bool:
		v.SetBool(kind == tree.True)
		return kind == tree.True || kind == tree.False
	}
	return json.Unmarshal(r.d.Raw(i), v.Addr().Interface()) == nil // numbers and bytes
}

func (r *reader) fields(v reflect.Value, i uint32) bool {
	for c := r.d.Nodes[i].First; c != 0; c = r.d.Nodes[c].Next {
		if !r.field(v, r.d.Key(c), c) {
			return false
		}
	}
	return true
}

// field reads the field of a struct for a key.
func (r *reader) field(v reflect.Value, key string, i uint32) bool {
	index := fieldsOf(v.Type()).indexes[key]
	return index != nil && r.read(v.FieldByIndex(index), i)
}

func (r *reader) entries(v reflect.Value, i uint32) bool {
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

func (r *reader) elements(v reflect.Value, i uint32) bool {
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
	d   *tree.Doc // scratch
	err error
}

// value writes what p points to.
func (w *writer) value(p any) { w.write(reflect.ValueOf(p).Elem()) }

// write writes an addressable value.
func (w *writer) write(v reflect.Value) {
	if k := v.Kind(); k != reflect.Struct && k != reflect.Map {
		w.kind(v)
		return
	}
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
		writeMap(w, *p)
	case *apiextensionsv1.JSONSchemaDefinitions:
		writeMap(w, *p)
	case *apiextensionsv1.JSONSchemaDependencies:
		writeMap(w, *p)
	case *map[string]string:
		writeMap(w, *p)
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
	words := unsafe.Slice((*uintptr)(v.Addr().UnsafePointer()), v.Type().Size()/wordSize)
	list := fieldsOf(v.Type()).list
	for i := range list {
		m := &list[i]
		if m.omitEmpty && m.word != noWord && words[m.word] == 0 { // as most fields
			continue
		}
		f := v.FieldByIndex(m.index)
		sized := f.Kind() == reflect.Slice || f.Kind() == reflect.Map
		if m.omitEmpty && (f.IsZero() || sized && f.Len() == 0) {
			continue
		}
		w.key(m.name)
		w.write(f)
	}
	w.out = append(w.out, '}')
}

func writeMap[V any](w *writer, m map[string]V) {
	element := new(V)
	w.out = append(w.out, '{')
	for _, name := range Names(m) {
		w.key(name)
		*element = m[name]
		w.value(element)
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

func (w *writer) text(s string) { w.out = tree.AppendCanonicalString(w.out, s) }

func (w *writer) json(text []byte) {
	if len(text) == 0 {
		w.out = append(w.out, "null"...)
		return
	}
	w.d.Reset()
	root, err := w.d.ParseJSON(text, tree.Limits{MaxBytes: len(text)})
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
