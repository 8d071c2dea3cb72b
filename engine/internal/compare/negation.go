package compare

import (
	"math"

	"github.com/crdeval/crdeval/engine/internal/schema"
)

// violation is a constraint that the values of a part violate: a keyword of a schema, a required field, or a schema of
// the items of a list.
type violation struct {
	keyword *keyword
	of      *part
	field   string
	items   *Props
}

// holds reports whether all values with some facts satisfy the constraint.
func (v *violation) holds(p *proof, f *facts) bool {
	switch {
	case v.keyword != nil:
		return v.keyword.implied(p, f, v.of)
	case v.items != nil:
		return p.implies(f.parts.items(), &part{Props: v.items})
	}
	return f.parts.requires(v.field)
}

// violating returns a part that is satisfied by all values that violate a keyword of another part. With negate, it also
// has the opposite bound.
func (k *keyword) violating(s *part) part {
	opposite := &Props{}
	if k.negate != nil {
		opposite = k.negate(s.Props)
	}
	return part{Props: opposite, clause: true, skipsNull: true, kinds: k.of, violates: &violation{keyword: k, of: s}}
}

// lacking returns a part that is satisfied by all objects without a field.
func lacking(name string) part {
	return part{Props: &Props{}, clause: true, skipsNull: true, kinds: objects, violates: &violation{field: name}}
}

// negations returns parts of which each value except null that violates a schema satisfies at least one. The schema is
// plain.
func (p *proof) negations(s *Props) (all []part) {
	add := func(of kinds, s Props) { all = append(all, part{Props: &s, clause: true, skipsNull: true, kinds: of}) }
	self := &part{Props: s, clause: true, skipsNull: true}
	for i := range keywords {
		if k := &keywords[i]; k.has(s) && (k.name != "format" || p.knows(s)) {
			all = append(all, k.violating(self))
		}
	}
	for _, name := range s.Required {
		all = append(all, lacking(name))
	}
	for name, below := range s.Properties {
		if constraintsOf(&below) > 0 {
			add(objects, Props{Required: []string{name}, Properties: map[string]Props{name: {Not: &below}}})
		}
	}
	if items := schema.Items(s); items != nil {
		least := int64(1)
		all = append(all, part{Props: &Props{MinItems: &least}, clause: true, skipsNull: true, kinds: lists,
			violates: &violation{items: items}})
	}
	for i := range s.AllOf {
		add(anything, Props{Not: &s.AllOf[i]})
	}
	if len(s.AnyOf) > 0 {
		add(anything, Props{AllOf: negationsOf(s.AnyOf)})
	}
	if len(s.OneOf) > 0 {
		add(anything, Props{AllOf: negationsOf(s.OneOf)})
	}
	for i := range s.OneOf {
		for k := range i {
			add(anything, Props{AllOf: []Props{s.OneOf[k], s.OneOf[i]}})
		}
	}
	if s.Not != nil {
		add(anything, Props{AllOf: []Props{*s.Not}})
	}
	return all
}

// negationsOf returns a schema with not for each of some schemas.
func negationsOf(list []Props) (all []Props) {
	for i := range list {
		all = append(all, Props{Not: &list[i]})
	}
	return all
}

// constraintsOf returns about the number of the negations of a schema. It is 0 only if no value violates the schema.
func constraintsOf(s *Props) int {
	if !isPlain(s) {
		return 1
	}
	n := len(s.Required) + len(s.Properties) + len(s.AllOf) + min(len(s.AnyOf), 1)
	if len(s.OneOf) > 0 {
		n += 1 + len(s.OneOf)*(len(s.OneOf)-1)/2
	}
	if s.Not != nil {
		n++
	}
	if s.Items != nil {
		n++
	}
	for i := range keywords {
		if keywords[i].has(s) {
			n++
		}
	}
	return n
}

// aboveMaximum and belowMinimum return the opposites of a maximum and of a minimum. A bound that does not fit the type
// rejects all numbers, and has no opposite.
func aboveMaximum(s *Props) *Props {
	if !fits(s, *s.Maximum) {
		return &Props{}
	}
	return &Props{Minimum: s.Maximum, ExclusiveMinimum: !s.ExclusiveMaximum}
}

func belowMinimum(s *Props) *Props {
	if !fits(s, *s.Minimum) {
		return &Props{}
	}
	return &Props{Maximum: s.Minimum, ExclusiveMaximum: !s.ExclusiveMinimum}
}

// fits reports whether API servers accept a bound for the type and format of a schema.
func fits(s *Props, bound float64) bool {
	switch numbersOf(s) {
	case "":
		return true
	case "integer":
		return isWhole(bound)
	}
	return isWhole(bound) && math.Abs(bound) <= math.MaxInt32
}

// numbersOf returns the type and format with which API servers read the bounds of a schema. Two schemas with the same
// one treat a bound alike.
func numbersOf(s *Props) string {
	switch {
	case s.XIntOrString, s.Type != "integer" && s.Type != "number":
		return ""
	case s.Type == "integer" && s.Format == "int32", s.Type == "number" && s.Format == "float":
		return s.Type + " " + s.Format
	case s.Type == "integer":
		return s.Type
	}
	return ""
}
