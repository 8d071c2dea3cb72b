package schema

import (
	"math"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/json"

	"github.com/crdeval/crdeval/engine/value"
)

// Read decodes the schema at a node of a tree in one pass. ok is false for an unknown key, a value of the wrong type, a
// null or a keyword that CRDs may not use. The caller then decodes the text with the API server's decoder, which
// reports the error but takes quadratic time in the nesting depth.
//
// If ok is true, the result equals that of sigs.k8s.io/json, which would report no strict errors.
func Read(d *value.Doc, node uint32) (s *Props, ok bool) {
	r := reader{d: d, ok: !d.HasDuplicates(value.Request)}
	s = &Props{}
	r.props(s, node)
	return s, r.ok
}

type reader struct {
	d  *value.Doc
	ok bool
}

// is reports whether a node has the given kind. Once it returned false, it always returns false.
func (r *reader) is(i uint32, kind value.Kind) bool {
	r.ok = r.ok && r.d.Nodes[i].Kind == kind
	return r.ok
}

func (r *reader) props(s *Props, i uint32) {
	if !r.is(i, value.Object) {
		return
	}
	for c := r.d.Nodes[i].First; c != 0 && r.ok; c = r.d.Nodes[c].Next {
		switch key := r.d.Key(c); key {
		case "description":
			r.text(&s.Description, c)
		case "type":
			r.text(&s.Type, c)
		case "format":
			r.text(&s.Format, c)
		case "title":
			r.text(&s.Title, c)
		case "pattern":
			r.text(&s.Pattern, c)
		case "nullable":
			r.bool(&s.Nullable, c)
		case "exclusiveMaximum":
			r.bool(&s.ExclusiveMaximum, c)
		case "exclusiveMinimum":
			r.bool(&s.ExclusiveMinimum, c)
		case "uniqueItems":
			r.bool(&s.UniqueItems, c)
		case "maximum":
			s.Maximum = r.float(c)
		case "minimum":
			s.Minimum = r.float(c)
		case "multipleOf":
			s.MultipleOf = r.float(c)
		case "maxLength":
			s.MaxLength = r.int(c)
		case "minLength":
			s.MinLength = r.int(c)
		case "maxItems":
			s.MaxItems = r.int(c)
		case "minItems":
			s.MinItems = r.int(c)
		case "maxProperties":
			s.MaxProperties = r.int(c)
		case "minProperties":
			s.MinProperties = r.int(c)
		case "required":
			s.Required = r.texts(c)
		case "enum":
			s.Enum = r.values(c)
		case "default":
			s.Default = r.value(c)
		case "example":
			s.Example = r.value(c)
		case "properties":
			s.Properties = r.members(c)
		case "items":
			s.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: r.schema(c)}
		case "additionalProperties":
			s.AdditionalProperties = r.schemaOrBool(c)
		case "allOf":
			s.AllOf = r.list(c)
		case "anyOf":
			s.AnyOf = r.list(c)
		case "oneOf":
			s.OneOf = r.list(c)
		case "not":
			s.Not = r.schema(c)
		default:
			r.extension(s, key, c)
		}
	}
}

func (r *reader) extension(s *Props, key string, c uint32) {
	switch key {
	case "x-kubernetes-preserve-unknown-fields":
		s.XPreserveUnknownFields = new(bool)
		r.bool(s.XPreserveUnknownFields, c)
	case "x-kubernetes-embedded-resource":
		r.bool(&s.XEmbeddedResource, c)
	case "x-kubernetes-int-or-string":
		r.bool(&s.XIntOrString, c)
	case "x-kubernetes-list-map-keys":
		s.XListMapKeys = r.texts(c)
	case "x-kubernetes-list-type":
		s.XListType = new(string)
		r.text(s.XListType, c)
	case "x-kubernetes-map-type":
		s.XMapType = new(string)
		r.text(s.XMapType, c)
	case "x-kubernetes-validations":
		if r.is(c, value.Array) {
			r.small(&s.XValidations, c)
		}
	case "externalDocs":
		if r.is(c, value.Object) {
			r.small(&s.ExternalDocs, c)
		}
	default:
		r.ok = false
	}
}

// small decodes a value that contains no schemas with the API server's decoder.
func (r *reader) small(into any, c uint32) {
	strict, err := json.UnmarshalStrict(r.d.Raw(c), into)
	r.ok = r.ok && err == nil && len(strict) == 0
}

func (r *reader) text(into *string, c uint32) {
	if r.is(c, value.String) {
		*into = r.own(r.d.Str(c))
	}
}

// own returns a copy of a string that belongs to the Doc.
func (r *reader) own(s string) string { return string([]byte(s)) }

func (r *reader) bool(into *bool, c uint32) {
	kind := r.d.Nodes[c].Kind
	r.ok = r.ok && (kind == value.True || kind == value.False)
	*into = kind == value.True
}

func (r *reader) int(c uint32) *int64 {
	if !r.is(c, value.Int) {
		return nil
	}
	n := r.d.Int(c)
	return &n
}

func (r *reader) float(c uint32) *float64 {
	if kind := r.d.Nodes[c].Kind; kind != value.Int && kind != value.Float {
		r.ok = false
		return nil
	}
	n := r.d.Number(c)
	if n == 0 && r.d.Raw(c)[0] == '-' {
		n = math.Copysign(0, -1) // the tree stores -0 as integer 0, but field errors print -0
	}
	return &n
}

func (r *reader) texts(c uint32) []string {
	if !r.is(c, value.Array) {
		return nil
	}
	out := make([]string, 0, r.d.Len(c))
	for e := r.d.Nodes[c].First; e != 0 && r.is(e, value.String); e = r.d.Nodes[e].Next {
		out = append(out, r.own(r.d.Str(e)))
	}
	return out
}

// value returns the text of a JSON value, or nil for null.
func (r *reader) value(c uint32) *apiextensionsv1.JSON {
	if r.d.Nodes[c].Kind == value.Null {
		return nil
	}
	return &apiextensionsv1.JSON{Raw: append([]byte(nil), r.d.Raw(c)...)}
}

func (r *reader) values(c uint32) []apiextensionsv1.JSON {
	if !r.is(c, value.Array) {
		return nil
	}
	out := make([]apiextensionsv1.JSON, r.d.Len(c))
	k := 0
	for e := r.d.Nodes[c].First; e != 0; e = r.d.Nodes[e].Next {
		if v := r.value(e); v != nil {
			out[k] = *v
		}
		k++
	}
	return out
}

func (r *reader) schema(c uint32) *Props {
	s := &Props{}
	r.props(s, c)
	return s
}

func (r *reader) schemaOrBool(c uint32) *apiextensionsv1.JSONSchemaPropsOrBool {
	switch r.d.Nodes[c].Kind {
	case value.Object:
		return &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: r.schema(c)}
	case value.True:
		return &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true}
	case value.False:
		return &apiextensionsv1.JSONSchemaPropsOrBool{}
	}
	r.ok = false
	return nil
}

func (r *reader) list(c uint32) []Props {
	if !r.is(c, value.Array) {
		return nil
	}
	out := make([]Props, r.d.Len(c))
	k := 0
	for e := r.d.Nodes[c].First; e != 0 && r.ok; e = r.d.Nodes[e].Next {
		r.props(&out[k], e)
		k++
	}
	return out
}

func (r *reader) members(c uint32) map[string]Props {
	if !r.is(c, value.Object) {
		return nil
	}
	out := make(map[string]Props, r.d.Len(c))
	for e := r.d.Nodes[c].First; e != 0 && r.ok; e = r.d.Nodes[e].Next {
		var s Props
		r.props(&s, e)
		out[r.own(r.d.Key(e))] = s
	}
	return out
}
