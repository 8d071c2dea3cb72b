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

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/engine/value"
)

// Any reports whether pred is true for s or any schema below it, including schemas in rejected keywords. It visits
// properties in name order and stops at the first match. It returns false for a nil schema.
//
// pred must not keep the pointer, because Any reuses the memory.
// (k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go, SchemaHas)
func Any(s *Props, pred func(*Props) bool) bool {
	w := walker{pred: pred}
	return w.any(s)
}

// walker holds the buffers of one walk: one copy of a map's schema for each level, because map values have no address.
type walker struct {
	pred   func(*Props) bool
	names  []string // sorted keys of the maps above the current schema
	levels []*Props
	depth  int
}

func (w *walker) any(s *Props) bool {
	switch {
	case s == nil:
		return false
	case w.pred(s):
		return true
	}
	var list []Props
	if s.Items != nil {
		list = s.Items.JSONSchemas
	}
	var additionalItems *Props
	if s.AdditionalItems != nil {
		additionalItems = s.AdditionalItems.Schema
	}
	if w.any(items(s)) || w.of(list) || w.of(s.AllOf) || w.of(s.AnyOf) || w.of(s.OneOf) || w.any(s.Not) ||
		w.in(s.Properties) || w.any(valueSchema(s)) || w.in(s.PatternProperties) || w.any(additionalItems) ||
		w.in(s.Definitions) {
		return true
	}
	for _, name := range Names(s.Dependencies) {
		if w.any(s.Dependencies[name].Schema) {
			return true
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
	if len(m) == 0 {
		return false
	}
	mark := len(w.names)
	w.names = slices.AppendSeq(w.names, maps.Keys(m))
	end := len(w.names)
	slices.Sort(w.names[mark:end])
	if w.depth == len(w.levels) {
		w.levels = append(w.levels, new(Props))
	}
	s := w.levels[w.depth]
	w.depth++
	found := false
	for i := mark; i < end && !found; i++ {
		*s = m[w.names[i]]
		found = w.any(s)
	}
	w.depth--
	w.names = w.names[:mark]
	return found
}

// HasRules reports whether the schema has x-kubernetes-validations anywhere.
func HasRules(s *Props) bool {
	return Any(s, func(s *Props) bool { return len(s.XValidations) > 0 })
}

// HasDefaults reports whether the schema has a default anywhere, including in rejected keywords.
func HasDefaults(s *Props) bool {
	return Any(s, func(s *Props) bool { return s.Default != nil })
}

// items returns the schema of array elements. It is nil if items is absent or a list.
func items(s *Props) *Props {
	if s.Items == nil {
		return nil
	}
	return s.Items.Schema
}

// valueSchema returns the schema of map values. It is nil if additionalProperties is absent or a boolean.
func valueSchema(s *Props) *Props {
	if s.AdditionalProperties == nil {
		return nil
	}
	return s.AdditionalProperties.Schema
}

func preservesUnknown(s *Props) bool {
	return s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields
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
	if Any(s, func(s *Props) bool { return s.Type != "" && !slices.Contains(types, s.Type) }) || Unsupported(s) != nil {
		return false
	}
	budget := violation.NewBudget(value.Limits{})
	return len(Structural(nil, s, budget)) == 0
}

// SaysIntOrString reports whether a schema contains one of the two int-or-string patterns of structural schemas.
func SaysIntOrString(s *Props) bool { return isIntOrString(s.AnyOf) || startsWithIntOrString(s) }
