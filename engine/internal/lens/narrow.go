package lens

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/internal/schema"
)

// comparison describes which values of one schema are valid at another. It does not include properties and items.
type comparison struct {
	// mismatch has the types of both schemas if no value can be carried. Otherwise it is "".
	mismatch string
	// Conversions check the conditions in checked. They do not check expected, which partial objects need not meet,
	// and unchecked, which only tests can detect.
	checked, expected, unchecked []string
	// unique reports whether one of the expected conditions is that items are unique.
	unique bool
}

// The types besides those of JSON schemas.
const (
	intOrString = "integer or string"
	anyType     = "any type"
)

func typeOf(s *schema.Props) string {
	switch {
	case s.XIntOrString:
		return intOrString
	case s.Type == "":
		return anyType
	}
	return s.Type
}

// narrower maps a type of the source to the types of the target that accept only some of its values.
var narrower = map[string][]string{
	"number":    {"integer"},
	intOrString: {"integer", "string"},
	anyType:     {"string", "integer", "number", "boolean", "object", "array", intOrString},
}

// wider maps a type of the source to the types of the target that accept all of its values.
var wider = map[string][]string{
	"integer": {"number", intOrString, anyType}, "string": {intOrString, anyType}, "number": {anyType},
	"boolean": {anyType}, "object": {anyType}, "array": {anyType}, intOrString: {anyType},
}

// compare compares the schema of a value with that at its target.
func compare(src, dst *schema.Props) (c comparison) {
	from, to := typeOf(src), typeOf(dst)
	switch {
	case from == to || slices.Contains(wider[from], to):
	case slices.Contains(narrower[from], to):
		c.check("is of type " + to)
	default:
		c.mismatch = from + " and " + to
		return c
	}
	c.numbers(src, dst)
	c.lengths(src, dst)
	if dst.Pattern != "" && dst.Pattern != src.Pattern {
		c.check("matches " + dst.Pattern)
	}
	everyInteger := dst.Format == "int64" && from == "integer"
	if dst.Format != "" && dst.Format != src.Format && !everyInteger {
		c.check("has the format " + dst.Format)
	}
	if len(dst.Enum) > 0 {
		texts := canonicals(dst.Enum)
		outside := func(text string) bool { return !slices.Contains(texts, text) }
		if len(src.Enum) == 0 || slices.ContainsFunc(canonicals(src.Enum), outside) {
			c.check("is one of " + strings.Join(texts, ", "))
		}
	}
	if kind := listType(dst); kind != "" && kind != "atomic" && (kind != listType(src) || !slices.Equal(src.XListMapKeys, dst.XListMapKeys)) {
		c.expected, c.unique = append(c.expected, "has unique items, as a list of type "+kind), true
	}
	for _, part := range []struct {
		name     string
		src, dst any
		absent   bool
	}{
		{"allOf", src.AllOf, dst.AllOf, len(dst.AllOf) == 0}, {"anyOf", src.AnyOf, dst.AnyOf, len(dst.AnyOf) == 0 || dst.XIntOrString},
		{"oneOf", src.OneOf, dst.OneOf, len(dst.OneOf) == 0}, {"not", src.Not, dst.Not, dst.Not == nil},
		{"rules", src.XValidations, dst.XValidations, len(dst.XValidations) == 0},
	} {
		if !part.absent && !schema.Equal(part.src, part.dst) {
			c.unchecked = append(c.unchecked, "meets the "+part.name+" of the target")
		}
	}
	if schema.Preserves(src) && !schema.Preserves(dst) && to != anyType {
		c.unchecked = append(c.unchecked, "has no fields that the target does not declare: they are lost")
	}
	return c
}

func (c *comparison) check(text string) { c.checked = append(c.checked, text) }

func (c *comparison) numbers(src, dst *schema.Props) {
	if dst.Maximum != nil && (src.Maximum == nil || *src.Maximum > *dst.Maximum ||
		*src.Maximum == *dst.Maximum && dst.ExclusiveMaximum && !src.ExclusiveMaximum) {
		c.check(fmt.Sprintf("is %s %v", either(dst.ExclusiveMaximum, "less than", "at most"), *dst.Maximum))
	}
	if dst.Minimum != nil && (src.Minimum == nil || *src.Minimum < *dst.Minimum ||
		*src.Minimum == *dst.Minimum && dst.ExclusiveMinimum && !src.ExclusiveMinimum) {
		c.check(fmt.Sprintf("is %s %v", either(dst.ExclusiveMinimum, "more than", "at least"), *dst.Minimum))
	}
	if dst.MultipleOf != nil && (src.MultipleOf == nil || *src.MultipleOf != *dst.MultipleOf) {
		c.check(fmt.Sprintf("is a multiple of %v", *dst.MultipleOf))
	}
}

func either[T any](condition bool, yes, no T) T {
	if condition {
		return yes
	}
	return no
}

// lengths compares bounds. Partial objects may have fewer items and properties.
func (c *comparison) lengths(src, dst *schema.Props) {
	for _, bound := range []struct {
		what                           string
		srcMin, dstMin, srcMax, dstMax *int64
		least                          *[]string
	}{
		{"characters", src.MinLength, dst.MinLength, src.MaxLength, dst.MaxLength, &c.checked},
		{"items", src.MinItems, dst.MinItems, src.MaxItems, dst.MaxItems, &c.expected},
		{"properties", src.MinProperties, dst.MinProperties, src.MaxProperties, dst.MaxProperties, &c.expected},
	} {
		if most := valueOr(bound.dstMax, math.MaxInt64); valueOr(bound.srcMax, math.MaxInt64) > most {
			c.check(fmt.Sprintf("has at most %d %s", most, bound.what))
		}
		if least := valueOr(bound.dstMin, 0); valueOr(bound.srcMin, 0) < least {
			*bound.least = append(*bound.least, fmt.Sprintf("has at least %d %s", least, bound.what))
		}
	}
}

func valueOr[T any](p *T, absent T) T {
	if p == nil {
		return absent
	}
	return *p
}

func listType(s *schema.Props) string { return valueOr(s.XListType, "") }

// takesNull reports whether null is a value of a schema.
func takesNull(s *schema.Props) bool { return s.Nullable || typeOf(s) == anyType }

// shallow returns the part of a schema that compare looks at and conversions check. Conversions check null themselves.
func shallow(s *schema.Props) *schema.Props {
	return &schema.Props{
		Type: s.Type, Format: s.Format, Nullable: true, Enum: s.Enum, Pattern: s.Pattern,
		Maximum: s.Maximum, ExclusiveMaximum: s.ExclusiveMaximum, Minimum: s.Minimum, ExclusiveMinimum: s.ExclusiveMinimum,
		MultipleOf: s.MultipleOf, MaxLength: s.MaxLength, MinLength: s.MinLength, MaxItems: s.MaxItems,
		MaxProperties: s.MaxProperties, XIntOrString: s.XIntOrString,
	}
}
