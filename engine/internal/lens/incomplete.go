package lens

import (
	"slices"

	"github.com/crdeval/crdeval/engine/internal/schema"
)

// incomplete returns a copy of a schema that also accepts what is left of a value if server-side apply removes parts of
// it: nothing inside the value is required, and null stands for what is removed. Otherwise the rest would be lost.
func incomplete(s *schema.Props) *schema.Props {
	s = s.DeepCopy()
	allowRemoval(s)
	return s
}

func allowRemoval(s *schema.Props) {
	s.Required, s.MinItems, s.MinProperties = nil, nil, nil
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
	for _, clauses := range []*[]schema.Props{&s.AllOf, &s.AnyOf, &s.OneOf} {
		if slices.ContainsFunc(*clauses, requires) {
			*clauses = nil
		}
	}
	if s.Not != nil && requires(*s.Not) {
		s.Not = nil
	}
}

// requires reports whether the removal of parts of a value can change its validity by a clause.
func requires(s schema.Props) bool {
	if len(s.Required) > 0 || s.MinItems != nil || s.MinProperties != nil {
		return true
	}
	for _, p := range s.Properties {
		if requires(p) {
			return true
		}
	}
	for _, below := range []*schema.Props{schema.Items(&s), schema.ValueSchema(&s), s.Not} {
		if below != nil && requires(*below) {
			return true
		}
	}
	return slices.ContainsFunc(slices.Concat(s.AllOf, s.AnyOf, s.OneOf), requires)
}
