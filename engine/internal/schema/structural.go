package schema

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// level is the position of a schema on the spine. It selects error texts and the checks of the root.
type level int

const (
	root level = iota
	item
	member
)

// Structural returns the reasons why a schema is not structural, sorted by text. A structural schema meets these rules:
//
//   - Each schema on the spine has a type. The spine is all schemas reached through properties, items and
//     additionalProperties.
//   - Logical operators (allOf, anyOf, oneOf, not) contain value validation only.
//   - The spine has every field that the root's operators mention. As in upstream, operators further down are not
//     checked.
//   - metadata at the root restricts only name and generateName.
//
// The schema must not be Unsupported. The search stops when the budget is exhausted, and the result is then incomplete.
// (k8s.io/apiextensions-apiserver/pkg/apiserver/schema/validation.go, ValidateStructural)
func Structural(path *field.Path, s *Props, budget *violation.Budget) field.ErrorList {
	c := checker{budget: budget}
	c.spine(s, root, path)
	c.complete(s, s, path, path)
	texts := make(map[*field.Error]string, len(c.errs))
	for _, e := range c.errs {
		texts[e] = e.Error()
	}
	slices.SortStableFunc(c.errs, func(a, b *field.Error) int { return cmp.Compare(texts[a], texts[b]) })
	return c.errs
}

// IsStructural reports whether a schema is structural.
func IsStructural(s *Props) bool {
	return Unsupported(s) == nil && len(Structural(nil, s, violation.NewBudget(tree.Limits{}))) == 0
}

// checker collects the errors of one check of a schema.
type checker struct {
	errs    field.ErrorList
	budget  *violation.Budget
	lenient Lenient
}

func (c *checker) add(errs ...*field.Error) {
	c.errs = append(c.errs, errs...)
	for _, e := range errs {
		c.budget.Take(violation.Size(e), false)
	}
}

// forbidden returns a function that reports a keyword of a schema if it is set.
func (c *checker) forbidden(path *field.Path) func(set bool, keyword, detail string) {
	return func(set bool, keyword, detail string) {
		if set {
			c.add(field.Forbidden(path.Child(keyword), detail))
		}
	}
}

// clauses calls visit for each schema below a logical operator of s.
func clauses(s *Props, path *field.Path, visit func(clause *Props, keyword string, k int, path *field.Path)) {
	if s.Not != nil {
		visit(s.Not, "not", 0, path.Child("not"))
	}
	for _, l := range [...]struct {
		keyword string
		list    []Props
	}{{"allOf", s.AllOf}, {"oneOf", s.OneOf}, {"anyOf", s.AnyOf}} {
		for k := range l.list {
			visit(&l.list[k], l.keyword, k, path.Child(l.keyword).Index(k))
		}
	}
}

// spine checks a schema on the spine and all schemas below it.
func (c *checker) spine(s *Props, lvl level, path *field.Path) {
	if s == nil || !c.budget.Open() {
		return
	}
	if s.Type == "array" && Items(s) == nil {
		c.add(field.Required(path.Child("items"), "must be specified"))
	}
	c.spine(Items(s), item, path.Child("items"))
	var p Props // reused because Props is large
	for _, name := range Names(s.Properties) {
		p = s.Properties[name]
		c.spine(&p, member, path.Child("properties").Key(name))
	}
	if s.AdditionalProperties != nil {
		if lvl == root {
			c.add(field.Forbidden(path.Child("additionalProperties"), "must not be used at the root"))
		}
		c.spine(s.AdditionalProperties.Schema, member, path.Child("additionalProperties"))
	}
	if s.XIntOrString && Preserves(s) {
		c.add(field.Invalid(path.Child("x-kubernetes-preserve-unknown-fields"), true, "must be false if x-kubernetes-int-or-string is true"))
	}
	if s.XIntOrString && s.XEmbeddedResource {
		c.add(field.Invalid(path.Child("x-kubernetes-embedded-resource"), true, "must be false if x-kubernetes-int-or-string is true"))
	}
	c.values(s, isIntOrString(s.AnyOf), startsWithIntOrString(s), path)
	c.types(s, lvl, path)
	c.typeMeta(s, lvl, path)
	if s.XEmbeddedResource && !Preserves(s) && len(s.Properties) == 0 {
		c.add(field.Required(path.Child("properties"), "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"))
	}
}

func (c *checker) types(s *Props, lvl level, path *field.Path) {
	switch {
	case s.XEmbeddedResource && s.Type == "":
		c.add(field.Required(path.Child("type"), "must be object if x-kubernetes-embedded-resource is true"))
	case s.XEmbeddedResource && s.Type != "object":
		c.add(field.Invalid(path.Child("type"), s.Type, "must be object if x-kubernetes-embedded-resource is true"))
	case s.Type == "" && !s.XEmbeddedResource && !s.XIntOrString && !Preserves(s):
		c.add(field.Required(path.Child("type"), map[level]string{
			root:   "must not be empty at the root",
			item:   "must not be empty for specified array items",
			member: "must not be empty for specified object fields",
		}[lvl]))
	}
	if s.XEmbeddedResource && s.AdditionalProperties != nil {
		c.add(field.Forbidden(path.Child("additionalProperties"), "must not be used if x-kubernetes-embedded-resource is set"))
	}
	if lvl == root && s.Type != "" && s.Type != "object" {
		c.add(field.Invalid(path.Child("type"), s.Type, "must be object at the root"))
	}
}

// typeMeta checks the schemas of kind, apiVersion and metadata of the root or of an embedded resource.
func (c *checker) typeMeta(s *Props, lvl level, path *field.Path) {
	if lvl == root || s.XEmbeddedResource {
		for _, name := range []string{"kind", "apiVersion"} {
			if p, ok := s.Properties[name]; ok && p.Type != "string" {
				c.add(field.Invalid(path.Child("properties").Key(name).Child("type"), p.Type, "must be string"))
			}
		}
		if p, ok := s.Properties["metadata"]; ok && p.Type != "object" {
			c.add(field.Invalid(path.Child("properties").Key("metadata").Child("type"), p.Type, "must be object"))
		}
	}
	if p, ok := s.Properties["metadata"]; ok && lvl == root && quirk.On(quirk.RestrictedMetadataSchema) && !restrictsNamesOnly(&p) {
		c.add(field.Forbidden(path.Child("properties").Key("metadata"), "must not specify anything other than name and generateName, but metadata is implicitly specified"))
	}
}

// restrictsNamesOnly reports whether a schema has nothing but a type, a default, and the properties name and
// generateName. As in upstream, an explicit empty list counts for required, x-kubernetes-list-map-keys and
// x-kubernetes-validations only.
func restrictsNamesOnly(s *Props) bool {
	for name := range s.Properties {
		if name != "name" && name != "generateName" {
			return false
		}
	}
	return Items(s) == nil && s.AdditionalProperties == nil && s.ExternalDocs == nil && !saysMore(s)
}

// saysMore reports whether the structural form of a schema has anything besides type, default, items, properties,
// additionalProperties and externalDocs.
func saysMore(s *Props) bool {
	return s.Description != "" || s.Title != "" || s.Nullable || HasValue(s.Example) ||
		Preserves(s) || s.XEmbeddedResource || s.XIntOrString || s.XListMapKeys != nil || s.XListType != nil ||
		s.XMapType != nil || s.XValidations != nil || s.Format != "" || Constrains(s)
}

// Constrains reports whether a schema has value validation besides type and format.
func Constrains(s *Props) bool {
	return s.Maximum != nil || s.ExclusiveMaximum || s.Minimum != nil || s.ExclusiveMinimum ||
		s.MaxLength != nil || s.MinLength != nil || s.Pattern != "" || s.MaxItems != nil || s.MinItems != nil || s.UniqueItems ||
		s.MultipleOf != nil || len(s.Enum) > 0 || s.MaxProperties != nil || s.MinProperties != nil || s.Required != nil ||
		len(s.AllOf) > 0 || len(s.OneOf) > 0 || len(s.AnyOf) > 0 || s.Not != nil
}

// isIntOrString matches the first int-or-string pattern: exactly anyOf: [{type: integer}, {type: string}].
func isIntOrString(anyOf []Props) bool {
	return len(anyOf) == 2 && saysOnlyType(&anyOf[0], "integer") && saysOnlyType(&anyOf[1], "string")
}

// startsWithIntOrString matches the second int-or-string pattern: the first clause of allOf has the first pattern. That
// clause may contain more.
func startsWithIntOrString(s *Props) bool {
	return len(s.AllOf) >= 1 && isIntOrString(s.AllOf[0].AnyOf)
}

// saysOnlyType reports whether the structural form of a clause has the given type and nothing else. An explicit empty
// properties counts, additionalProperties: false does not.
func saysOnlyType(s *Props, typ string) bool {
	return s.Type == typ && s.Properties == nil && Items(s) == nil && !allowsMore(s) && s.ExternalDocs == nil &&
		!HasValue(s.Default) && !saysMore(s)
}

// allowsMore reports whether additionalProperties is a schema or true.
func allowsMore(s *Props) bool {
	return s.AdditionalProperties != nil && (s.AdditionalProperties.Schema != nil || s.AdditionalProperties.Allows)
}
