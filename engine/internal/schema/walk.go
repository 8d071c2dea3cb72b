package schema

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Any reports whether pred holds for the schema or any schema below it, in any keyword that can hold one, refused keywords
// included. It stops at the first that does; properties are visited in the order of their names. A nil schema has none.
// (k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go, SchemaHas)
func Any(s *Props, pred func(*Props) bool) bool {
	if s == nil {
		return false
	}
	if pred(s) {
		return true
	}
	if s.Items != nil && (Any(s.Items.Schema, pred) || anyOf(s.Items.JSONSchemas, pred)) {
		return true
	}
	if anyOf(s.AllOf, pred) || anyOf(s.AnyOf, pred) || anyOf(s.OneOf, pred) || Any(s.Not, pred) || anyIn(s.Properties, pred) {
		return true
	}
	if s.AdditionalProperties != nil && Any(s.AdditionalProperties.Schema, pred) {
		return true
	}
	if anyIn(s.PatternProperties, pred) {
		return true
	}
	if s.AdditionalItems != nil && Any(s.AdditionalItems.Schema, pred) {
		return true
	}
	if anyIn(s.Definitions, pred) {
		return true
	}
	for _, name := range Names(s.Dependencies) {
		if Any(s.Dependencies[name].Schema, pred) {
			return true
		}
	}
	return false
}

func anyOf(list []Props, pred func(*Props) bool) bool {
	for i := range list {
		if Any(&list[i], pred) {
			return true
		}
	}
	return false
}

func anyIn(m map[string]Props, pred func(*Props) bool) bool {
	for _, name := range Names(m) {
		s := m[name]
		if Any(&s, pred) {
			return true
		}
	}
	return false
}

// HasRules reports whether the schema has x-kubernetes-validations anywhere.
func HasRules(s *Props) bool {
	return Any(s, func(s *Props) bool { return len(s.XValidations) > 0 })
}

// HasDefaults reports whether the schema has a default anywhere, refused places included.
func HasDefaults(s *Props) bool {
	return Any(s, func(s *Props) bool { return s.Default != nil })
}

// items returns the schema of an array's items, nil if there is none or if the keyword holds a list.
func items(s *Props) *Props {
	if s.Items == nil {
		return nil
	}
	return s.Items.Schema
}

// valueSchema returns the schema of a map's values, nil if there is none or if the keyword is a bool.
func valueSchema(s *Props) *Props {
	if s.AdditionalProperties == nil {
		return nil
	}
	return s.AdditionalProperties.Schema
}

func preservesUnknown(s *Props) bool {
	return s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields
}

// holdsValue reports whether a default or an example is more than null.
func holdsValue(j *apiextensionsv1.JSON) bool {
	return j != nil && len(j.Raw) > 0 && string(j.Raw) != "null"
}

// Names returns the keys of a map in the order of schemas, byte by byte.
func Names[V any](m map[string]V) []string {
	if len(m) == 0 {
		return nil
	}
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
