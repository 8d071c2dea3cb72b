package schema

import (
	"encoding/json"
	"strconv"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/value"
)

// writer encodes schemas as canonical JSON in one pass. The Marshal functions of the API types take quadratic time in
// the nesting depth.
type writer struct {
	out []byte
	d   *value.Doc // scratch
	err error
}

// props writes the keywords that are set, in name order.
func (w *writer) props(s *Props) {
	w.out = append(w.out, '{')
	if s.Ref != nil {
		w.key("$ref").text(*s.Ref)
	}
	w.optional("$schema", string(s.Schema))
	w.either("additionalItems", s.AdditionalItems)
	w.either("additionalProperties", s.AdditionalProperties)
	w.list("allOf", s.AllOf)
	w.list("anyOf", s.AnyOf)
	w.json("default", s.Default)
	w.members("definitions", s.Definitions)
	w.dependencies(s.Dependencies)
	w.optional("description", s.Description)
	w.values("enum", s.Enum)
	w.json("example", s.Example)
	w.flag("exclusiveMaximum", s.ExclusiveMaximum)
	w.flag("exclusiveMinimum", s.ExclusiveMinimum)
	if s.ExternalDocs != nil {
		w.key("externalDocs").sorted(s.ExternalDocs)
	}
	w.optional("format", s.Format)
	w.optional("id", s.ID)
	if s.Items != nil {
		w.key("items").items(s.Items)
	}
	w.int("maxItems", s.MaxItems)
	w.int("maxLength", s.MaxLength)
	w.int("maxProperties", s.MaxProperties)
	w.float("maximum", s.Maximum)
	w.int("minItems", s.MinItems)
	w.int("minLength", s.MinLength)
	w.int("minProperties", s.MinProperties)
	w.float("minimum", s.Minimum)
	w.float("multipleOf", s.MultipleOf)
	if s.Not != nil {
		w.key("not").props(s.Not)
	}
	w.flag("nullable", s.Nullable)
	w.list("oneOf", s.OneOf)
	w.optional("pattern", s.Pattern)
	w.members("patternProperties", s.PatternProperties)
	w.members("properties", s.Properties)
	w.texts("required", s.Required)
	w.optional("title", s.Title)
	w.optional("type", s.Type)
	w.flag("uniqueItems", s.UniqueItems)
	w.flag("x-kubernetes-embedded-resource", s.XEmbeddedResource)
	w.flag("x-kubernetes-int-or-string", s.XIntOrString)
	w.texts("x-kubernetes-list-map-keys", s.XListMapKeys)
	if s.XListType != nil {
		w.key("x-kubernetes-list-type").text(*s.XListType)
	}
	if s.XMapType != nil {
		w.key("x-kubernetes-map-type").text(*s.XMapType)
	}
	if s.XPreserveUnknownFields != nil {
		w.key("x-kubernetes-preserve-unknown-fields").bool(*s.XPreserveUnknownFields)
	}
	if len(s.XValidations) > 0 {
		w.key("x-kubernetes-validations").sorted(s.XValidations)
	}
	w.out = append(w.out, '}')
}

// comma writes a comma unless the next value is the first of its object or array.
func (w *writer) comma() {
	if last := w.out[len(w.out)-1]; last != '{' && last != '[' {
		w.out = append(w.out, ',')
	}
}

func (w *writer) key(name string) *writer {
	w.comma()
	w.text(name)
	w.out = append(w.out, ':')
	return w
}

func (w *writer) text(s string) { w.out = value.AppendCanonicalString(w.out, s) }

func (w *writer) bool(b bool) { w.out = strconv.AppendBool(w.out, b) }

// encode writes a value with encoding/json. The value must need no sorting.
func (w *writer) encode(v any) {
	text, err := json.Marshal(v)
	if err != nil {
		w.fail(err)
	}
	w.out = append(w.out, text...)
}

func (w *writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// sorted writes a struct with sorted keys; encoding/json writes them in field order.
func (w *writer) sorted(v any) {
	text, err := json.Marshal(v)
	if err != nil {
		w.fail(err)
		return
	}
	w.canonical(text)
}

// canonical writes JSON text in canonical form.
func (w *writer) canonical(text []byte) {
	w.d.Reset()
	root, err := w.d.ParseJSON(text, value.Limits{MaxBytes: max(len(text), 1)})
	if err != nil {
		w.fail(err)
		return
	}
	w.out = w.d.AppendCanonical(w.out, root)
}

func (w *writer) optional(name, s string) {
	if s != "" {
		w.key(name).text(s)
	}
}

func (w *writer) flag(name string, set bool) {
	if set {
		w.key(name).bool(true)
	}
}

func (w *writer) int(name string, n *int64) {
	if n != nil {
		w.key(name)
		w.out = strconv.AppendInt(w.out, *n, 10)
	}
}

func (w *writer) float(name string, f *float64) {
	if f != nil {
		w.key(name).encode(*f)
	}
}

func (w *writer) texts(name string, list []string) {
	if len(list) == 0 {
		return
	}
	w.key(name)
	w.out = append(w.out, '[')
	for _, s := range list {
		w.comma()
		w.text(s)
	}
	w.out = append(w.out, ']')
}

func (w *writer) json(name string, j *apiextensionsv1.JSON) {
	if j != nil {
		w.key(name).raw(j)
	}
}

func (w *writer) raw(j *apiextensionsv1.JSON) {
	if len(j.Raw) == 0 {
		w.out = append(w.out, "null"...)
		return
	}
	w.canonical(j.Raw)
}

func (w *writer) values(name string, list []apiextensionsv1.JSON) {
	if len(list) == 0 {
		return
	}
	w.key(name)
	w.out = append(w.out, '[')
	for i := range list {
		w.comma()
		w.raw(&list[i])
	}
	w.out = append(w.out, ']')
}

func (w *writer) items(s *apiextensionsv1.JSONSchemaPropsOrArray) {
	switch {
	case len(s.JSONSchemas) > 0:
		w.schemas(s.JSONSchemas)
	case s.Schema != nil:
		w.props(s.Schema)
	default:
		w.out = append(w.out, "null"...)
	}
}

func (w *writer) either(name string, s *apiextensionsv1.JSONSchemaPropsOrBool) {
	switch {
	case s == nil:
	case s.Schema != nil:
		w.key(name).props(s.Schema)
	default:
		w.key(name).bool(s.Allows)
	}
}

func (w *writer) list(name string, list []Props) {
	if len(list) > 0 {
		w.key(name).schemas(list)
	}
}

func (w *writer) schemas(list []Props) {
	w.out = append(w.out, '[')
	for i := range list {
		w.comma()
		w.props(&list[i])
	}
	w.out = append(w.out, ']')
}

func (w *writer) members(name string, m map[string]Props) {
	if len(m) == 0 {
		return
	}
	w.key(name)
	w.out = append(w.out, '{')
	var s Props // reused because Props is large
	for _, k := range Names(m) {
		s = m[k]
		w.key(k).props(&s)
	}
	w.out = append(w.out, '}')
}

func (w *writer) dependencies(m apiextensionsv1.JSONSchemaDependencies) {
	if len(m) == 0 {
		return
	}
	w.key("dependencies")
	w.out = append(w.out, '{')
	for _, k := range Names(m) {
		w.key(k)
		switch d := m[k]; {
		case len(d.Property) > 0:
			w.encode(d.Property)
		case d.Schema != nil:
			w.props(d.Schema)
		default:
			w.out = append(w.out, "null"...)
		}
	}
	w.out = append(w.out, '}')
}
