package openapi

import (
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/schema"
)

// The functions below write schema keywords in the order of kube-openapi and omit empty ones.
// (k8s.io/kube-openapi/pkg/validation/spec/schema.go)

// generics writes description, type, nullable, format, title and default. typ is the type to write.
func (w *writer) generics(s *Props, typ string) {
	w.optional("description", s.Description)
	w.optional("type", typ)
	if w.form == V3Form {
		w.flag("nullable", s.Nullable)
	}
	w.optional("format", s.Format)
	w.optional("title", s.Title)
	if w.form == V3Form && s.Default != nil && string(s.Default.Raw) != "null" {
		w.key("default").value(s.Default)
	}
}

// bounds writes the validation keywords except required.
func (w *writer) bounds(s *Props) {
	w.float("maximum", s.Maximum)
	w.flag("exclusiveMaximum", s.ExclusiveMaximum)
	w.float("minimum", s.Minimum)
	w.flag("exclusiveMinimum", s.ExclusiveMinimum)
	w.int("maxLength", s.MaxLength)
	w.int("minLength", s.MinLength)
	w.optional("pattern", s.Pattern)
	w.int("maxItems", s.MaxItems)
	w.int("minItems", s.MinItems)
	w.flag("uniqueItems", s.UniqueItems)
	w.float("multipleOf", s.MultipleOf)
	if len(s.Enum) > 0 {
		w.key("enum").open('[')
		for i := range s.Enum {
			w.comma()
			w.value(&s.Enum[i])
		}
		w.close(']')
	}
	w.int("maxProperties", s.MaxProperties)
	w.int("minProperties", s.MinProperties)
}

// annotations writes externalDocs and example. It omits an empty example.
func (w *writer) annotations(s *Props) {
	if docs := s.ExternalDocs; docs != nil {
		w.key("externalDocs").open('{')
		w.optional("description", docs.Description)
		w.optional("url", docs.URL)
		w.close('}')
	}
	if s.Example == nil {
		return
	}
	before := len(w.out)
	w.key("example")
	text := len(w.out)
	w.value(s.Example)
	switch string(w.out[text:]) {
	case "null", `""`, "{}", "[]":
		w.out = w.out[:before]
	}
}

// extensions writes the vendor extensions, sorted by name. r is nil below the root.
func (w *writer) extensions(s *Props, r *Resource) {
	w.flag("x-kubernetes-embedded-resource", s.XEmbeddedResource)
	if r != nil {
		w.identity(r, r.Kind)
	}
	w.flag("x-kubernetes-int-or-string", s.XIntOrString)
	w.texts("x-kubernetes-list-map-keys", s.XListMapKeys)
	if s.XListType != nil {
		w.key("x-kubernetes-list-type").text(*s.XListType)
	}
	if s.XMapType != nil {
		w.key("x-kubernetes-map-type").text(*s.XMapType)
	}
	w.flag("x-kubernetes-preserve-unknown-fields", schema.Preserves(s))
	if r != nil {
		w.selectable(r)
	}
	w.rules(s.XValidations)
}

// intOrString is the expansion of x-kubernetes-int-or-string.
const intOrString = `"anyOf":[{"type":"integer"},{"type":"string"}]`

// logical writes the logical operators, which only v3 has. unfold expands int-or-string to anyOf, or to the first
// clause of allOf if the node has its own anyOf.
func (w *writer) logical(s *Props, unfold bool) {
	if first := unfold && len(s.AnyOf) > 0; first || len(s.AllOf) > 0 {
		w.key("allOf").open('[')
		if first {
			w.raw([]byte("{" + intOrString + "}"))
		}
		w.clauses(s.AllOf)
	}
	if len(s.OneOf) > 0 {
		w.key("oneOf").open('[')
		w.clauses(s.OneOf)
	}
	if len(s.AnyOf) > 0 {
		w.key("anyOf").open('[')
		w.clauses(s.AnyOf)
	} else if unfold {
		w.comma()
		w.raw([]byte(intOrString))
	}
	if s.Not != nil {
		w.key("not").clause(s.Not)
	}
}

// clauses writes the elements of an opened list and closes it.
func (w *writer) clauses(list []Props) {
	for i := range list {
		w.comma()
		w.clause(&list[i])
	}
	w.close(']')
}

// clause writes a schema below a logical operator. It ignores keywords that a structural schema does not allow there,
// except type, which int-or-string needs. It omits additionalProperties, which may be false there.
// (k8s.io/apiextensions-apiserver/pkg/apiserver/schema/kubeopenapi.go, NestedValueValidation.toKubeOpenAPI)
func (w *writer) clause(s *Props) {
	w.open('{')
	w.generics(s, s.Type)
	w.bounds(s)
	w.texts("required", s.Required)
	if element := schema.Items(s); element != nil {
		w.key("items").clause(element)
	}
	w.logical(s, false)
	if len(s.Properties) > 0 {
		w.key("properties").open('{')
		for _, name := range schema.Names(s.Properties) {
			p := s.Properties[name]
			w.key(name).clause(&p)
		}
		w.close('}')
	}
	w.annotations(s)
	w.extensions(s, nil)
	w.close('}')
}

func (w *writer) rules(rules apiextensionsv1.ValidationRules) {
	if len(rules) == 0 {
		return
	}
	w.key("x-kubernetes-validations").open('[')
	for i := range rules {
		rule := &rules[i]
		w.comma()
		w.open('{')
		w.key("rule").text(rule.Rule)
		w.optional("message", rule.Message)
		w.optional("messageExpression", rule.MessageExpression)
		if rule.Reason != nil {
			w.optional("reason", string(*rule.Reason))
		}
		w.optional("fieldPath", rule.FieldPath)
		if rule.OptionalOldSelf != nil {
			w.key("optionalOldSelf").bool(*rule.OptionalOldSelf)
		}
		w.close('}')
	}
	w.close(']')
}

// identity writes the group, version and kind of a definition.
func (w *writer) identity(r *Resource, kind string) {
	w.key("x-kubernetes-group-version-kind").open('[')
	w.open('{')
	w.key("group").text(r.Group)
	w.key("kind").text(kind)
	w.key("version").text(r.Version)
	w.close('}')
	w.close(']')
}

// selectable writes the selectable fields.
func (w *writer) selectable(r *Resource) {
	if len(r.Selectable) == 0 {
		return
	}
	w.key("x-kubernetes-selectable-fields").open('[')
	for _, path := range r.Selectable {
		w.comma()
		w.open('{')
		w.key("fieldPath").text(strings.TrimPrefix(path, "."))
		w.close('}')
	}
	w.close(']')
}
