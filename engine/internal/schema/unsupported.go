package schema

import (
	"errors"
	"fmt"
)

// Unsupported returns an error if upstream cannot derive a structural schema, because of a JSON Schema keyword
// that Kubernetes does not support. It reports the first such keyword in document order; upstream picks one at random.
// (k8s.io/apiextensions-apiserver/pkg/apiserver/schema/convert.go, NewStructural)
func Unsupported(s *Props) error {
	if !Any(s, SaysUnsupported) {
		return nil // without an order, which costs half as much
	}
	return firstUnsupported(s)
}

// SaysUnsupported reports whether a schema, apart from those below it, has a keyword that Unsupported returns.
func SaysUnsupported(s *Props) bool {
	return s.ID != "" || s.Schema != "" || s.Ref != nil && *s.Ref != "" || len(s.PatternProperties) > 0 ||
		len(s.Dependencies) > 0 || s.AdditionalItems != nil || len(s.Definitions) > 0 ||
		s.XPreserveUnknownFields != nil && !*s.XPreserveUnknownFields || s.Items != nil && len(s.Items.JSONSchemas) > 0
}

func firstUnsupported(s *Props) error {
	if s == nil {
		return nil
	}
	for _, keyword := range []struct {
		name string
		used bool
	}{
		{"id", s.ID != ""}, {"schema", s.Schema != ""}, {"$ref", s.Ref != nil && *s.Ref != ""},
		{"patternProperties", len(s.PatternProperties) > 0}, {"dependencies", len(s.Dependencies) > 0},
		{"additionalItems", s.AdditionalItems != nil}, {"definitions", len(s.Definitions) > 0},
	} {
		if keyword.used {
			return fmt.Errorf("OpenAPIV3Schema '%s' is not supported", keyword.name)
		}
	}
	if err := firstUnsupported(s.Not); err != nil {
		return err
	}
	for _, list := range [][]Props{s.AllOf, s.AnyOf, s.OneOf} {
		for i := range list {
			if err := firstUnsupported(&list[i]); err != nil {
				return err
			}
		}
	}
	if s.XPreserveUnknownFields != nil && !*s.XPreserveUnknownFields {
		return errors.New("internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined")
	}
	if s.Items != nil && len(s.Items.JSONSchemas) > 0 {
		return errors.New("OpenAPIV3Schema 'items' must be a schema, but is an array")
	}
	if err := firstUnsupported(Items(s)); err != nil {
		return err
	}
	for _, name := range Names(s.Properties) {
		p := s.Properties[name]
		if err := firstUnsupported(&p); err != nil {
			return err
		}
	}
	return firstUnsupported(ValueSchema(s))
}
