// Package schema checks the schemas of CRDs: structural schema rules, rejected keywords, list types and the form of
// validation rules. It also orders versions and computes the canonical form and the revision of a CRD.
//
// It works on the types of k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1. Where upstream checks a derived
// structural schema, comments name the corresponding fields.
//
// Package engine/internal/definition checks defaults, which need compiled plans, and runs all checks in upstream's
// order.
package schema

import (
	"maps"
	"slices"
	"unicode/utf8"
	"unsafe"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Any reports whether pred is true for s or any schema below it, including schemas in rejected keywords. It visits
// properties in any order and stops at the first match. It returns false for a nil schema.
//
// pred must not keep the pointer, because Any reuses the memory.
// (k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go, SchemaHas)
func Any(s *Props, pred func(*Props) bool) bool {
	return (&walker{pred: pred}).any(s)
}

// AnySorted is Any that visits properties in name order, which takes twice as long.
func AnySorted(s *Props, pred func(*Props) bool) bool {
	return (&walker{pred: pred, sorted: true}).any(s)
}

// walker holds the buffers of one walk: one copy of a map's schema for each level, because map values have no address.
type walker struct {
	pred   func(*Props) bool
	sorted bool // visits properties in name order
	levels []*Props
	depth  int
}

func (w *walker) any(s *Props) bool {
	if s == nil {
		return false
	}
	if w.pred(s) ||
		s.Items != nil && (w.any(s.Items.Schema) || w.of(s.Items.JSONSchemas)) ||
		len(s.AllOf)+len(s.AnyOf)+len(s.OneOf) > 0 && (w.of(s.AllOf) || w.of(s.AnyOf) || w.of(s.OneOf)) ||
		s.Not != nil && w.any(s.Not) || len(s.Properties) > 0 && w.in(s.Properties) ||
		s.AdditionalProperties != nil && w.any(s.AdditionalProperties.Schema) ||
		len(s.PatternProperties) > 0 && w.in(s.PatternProperties) ||
		s.AdditionalItems != nil && w.any(s.AdditionalItems.Schema) ||
		len(s.Definitions) > 0 && w.in(s.Definitions) {
		return true
	}
	if len(s.Dependencies) > 0 {
		for _, name := range Names(s.Dependencies) {
			if w.any(s.Dependencies[name].Schema) {
				return true
			}
		}
	}
	return false
}

func (w *walker) of(list []Props) bool {
	for i := range list {
		if w.any(&list[i]) {
			return true
		}
	}
	return false
}

func (w *walker) in(m map[string]Props) bool {
	if w.depth == len(w.levels) {
		w.levels = append(w.levels, new(Props))
	}
	s := w.levels[w.depth]
	w.depth++
	if w.sorted {
		for _, name := range Names(m) {
			if *s = m[name]; w.any(s) {
				return true
			}
		}
	} else {
		for _, *s = range m {
			if w.any(s) {
				return true
			}
		}
	}
	w.depth--
	return false
}

// HasRules reports whether the schema has x-kubernetes-validations anywhere.
func HasRules(s *Props) bool {
	return Any(s, func(s *Props) bool { return len(s.XValidations) > 0 })
}

// HasDefaults reports whether the schema has a default anywhere, including in rejected keywords.
func HasDefaults(s *Props) bool {
	return Any(s, func(s *Props) bool { return s.Default != nil })
}

// Items returns the schema of array elements. It is nil if items is absent or a list.
func Items(s *Props) *Props {
	if s.Items == nil {
		return nil
	}
	return s.Items.Schema
}

// ValueSchema returns the schema of map values. It is nil if additionalProperties is absent or a boolean.
func ValueSchema(s *Props) *Props {
	if s.AdditionalProperties == nil {
		return nil
	}
	return s.AdditionalProperties.Schema
}

// Preserves reports whether x-kubernetes-preserve-unknown-fields is set.
func Preserves(s *Props) bool {
	return s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields
}

// PlainText returns the content of a JSON string of ASCII characters without escapes. It shares memory with raw. ok is
// false for other values.
func PlainText(raw []byte) (s string, ok bool) {
	n := len(raw)
	if n < 2 || raw[0] != '"' || raw[n-1] != '"' {
		return "", false
	}
	for _, c := range raw[1 : n-1] {
		if c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return "", false
		}
	}
	return unsafe.String(&raw[1], n-2), true
}

// HasValue reports whether a default or an example is set and not null.
func HasValue(j *apiextensionsv1.JSON) bool {
	return j != nil && len(j.Raw) > 0 && string(j.Raw) != "null"
}

// Names returns the keys of a map in byte order.
func Names[V any](m map[string]V) []string {
	if len(m) == 0 {
		return nil
	}
	names := slices.AppendSeq(make([]string, 0, len(m)), maps.Keys(m))
	slices.Sort(names)
	return names
}

// Props is a schema as the API declares it.
type Props = apiextensionsv1.JSONSchemaProps

// Publishable reports whether the API server publishes a schema in its OpenAPI documents. The schema must be structural
// and use only OpenAPI types. CRDs that were stored before v1 may have other schemas.
// (k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder/builder.go, generateBuilder)
func Publishable(s *Props) bool {
	return !Any(s, func(s *Props) bool { return s.Type != "" && !slices.Contains(types, s.Type) }) && IsStructural(s)
}

// SaysIntOrString reports whether a schema contains one of the two int-or-string patterns of structural schemas.
func SaysIntOrString(s *Props) bool { return isIntOrString(s.AnyOf) || startsWithIntOrString(s) }
