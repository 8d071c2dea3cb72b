package lens

import (
	"bytes"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/schema"
)

// incomplete returns a copy of a schema that also accepts what is left of a value if server-side apply removes parts of
// it: nothing inside the value is required, and null stands for what is removed. Otherwise the rest would be lost.
func incomplete(s *schema.Props) *schema.Props {
	s = s.DeepCopy()
	allowRemoval(s)
	s.Nullable = true
	return s
}

func allowRemoval(s *schema.Props) {
	s.Required, s.MinItems, s.MinProperties = nil, nil, nil
	if slices.ContainsFunc(s.Enum, isContainer) {
		s.Enum = nil
	}
	for name, p := range s.Properties {
		allowRemoval(&p)
		p.Nullable = true
		s.Properties[name] = p
	}
	if items := schema.Items(s); items != nil {
		allowRemoval(items)
	}
	if values := schema.ValueSchema(s); values != nil {
		allowRemoval(values)
		values.Nullable = true
	}
	for _, clauses := range []*[]schema.Props{&s.AllOf, &s.AnyOf} {
		if slices.ContainsFunc(*clauses, requires) {
			*clauses = nil
		}
	}
	if requires(schema.Props{OneOf: s.OneOf}) {
		s.OneOf = nil
	}
	if requires(schema.Props{Not: s.Not}) {
		s.Not = nil
	}
}

// requires reports whether the removal of parts of a value can make it invalid by a clause. A value that lacks a part
// can match more clauses of oneOf and not.
func requires(s schema.Props) bool {
	if len(s.Required) > 0 || s.MinItems != nil || s.MinProperties != nil || slices.ContainsFunc(s.Enum, isContainer) {
		return true
	}
	for _, p := range s.Properties {
		if requires(p) {
			return true
		}
	}
	for _, below := range []*schema.Props{schema.Items(&s), schema.ValueSchema(&s)} {
		if below != nil && requires(*below) {
			return true
		}
	}
	exclusive := s.OneOf
	if s.Not != nil {
		exclusive = append(slices.Clone(exclusive), *s.Not)
	}
	return slices.ContainsFunc(exclusive, hasParts) || slices.ContainsFunc(slices.Concat(s.AllOf, s.AnyOf), requires)
}

// hasParts reports whether a clause describes more than a scalar.
func hasParts(s schema.Props) bool {
	return requires(s) || len(s.Properties) > 0 || schema.Items(&s) != nil || schema.ValueSchema(&s) != nil ||
		s.MaxItems != nil || s.MaxProperties != nil || slices.ContainsFunc(slices.Concat(s.AllOf, s.AnyOf), hasParts)
}

// isContainer reports whether a value is an object or a list.
func isContainer(j apiextensionsv1.JSON) bool {
	text := bytes.TrimSpace(j.Raw)
	return len(text) > 0 && (text[0] == '{' || text[0] == '[')
}
