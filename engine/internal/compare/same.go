package compare

import (
	"bytes"
	"maps"
	"reflect"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// same reports whether two schemas are equal, except for their documentation, and for the order of required fields and
// of clauses. API servers then validate each value alike.
func same(a, b *Props) bool {
	return a == b || sameScalars(a, b) && sameBounds(a, b) && slices.EqualFunc(a.Enum, b.Enum, sameRaw) &&
		sameElements(a.Required, b.Required, func(a, b *string) bool { return *a == *b }) &&
		sameElements(a.AllOf, b.AllOf, same) && sameElements(a.AnyOf, b.AnyOf, same) &&
		sameElements(a.OneOf, b.OneOf, same) && samePointees(a.Not, b.Not, same) &&
		sameFields(a.Properties, b.Properties) && sameFields(a.PatternProperties, b.PatternProperties) &&
		samePointees(a.Items, b.Items, func(a, b *apiextensionsv1.JSONSchemaPropsOrArray) bool {
			return samePointees(a.Schema, b.Schema, same) && sameElements(a.JSONSchemas, b.JSONSchemas, same)
		}) &&
		samePointees(a.AdditionalProperties, b.AdditionalProperties, sameOrBool) &&
		samePointees(a.AdditionalItems, b.AdditionalItems, sameOrBool) &&
		(len(a.Dependencies)+len(b.Dependencies) == 0 || reflect.DeepEqual(a.Dependencies, b.Dependencies)) &&
		(len(a.Definitions)+len(b.Definitions) == 0 || reflect.DeepEqual(a.Definitions, b.Definitions)) &&
		(len(a.XValidations)+len(b.XValidations) == 0 || reflect.DeepEqual(a.XValidations, b.XValidations))
}

func sameScalars(a, b *Props) bool {
	return a.Type == b.Type && a.Format == b.Format && a.Pattern == b.Pattern && a.Nullable == b.Nullable &&
		a.UniqueItems == b.UniqueItems && a.XEmbeddedResource == b.XEmbeddedResource && a.XIntOrString == b.XIntOrString &&
		equal(a.Ref, b.Ref) && equal(a.XPreserveUnknownFields, b.XPreserveUnknownFields) && equal(a.XListType, b.XListType) &&
		equal(a.XMapType, b.XMapType) && slices.Equal(a.XListMapKeys, b.XListMapKeys) &&
		samePointees(a.Default, b.Default, func(a, b *apiextensionsv1.JSON) bool { return sameRaw(*a, *b) })
}

func sameBounds(a, b *Props) bool {
	return equal(a.Maximum, b.Maximum) && a.ExclusiveMaximum == b.ExclusiveMaximum &&
		equal(a.Minimum, b.Minimum) && a.ExclusiveMinimum == b.ExclusiveMinimum && equal(a.MultipleOf, b.MultipleOf) &&
		equal(a.MaxLength, b.MaxLength) && equal(a.MinLength, b.MinLength) && equal(a.MaxItems, b.MaxItems) &&
		equal(a.MinItems, b.MinItems) && equal(a.MaxProperties, b.MaxProperties) && equal(a.MinProperties, b.MinProperties)
}

func sameRaw(a, b apiextensionsv1.JSON) bool { return bytes.Equal(a.Raw, b.Raw) }

func sameOrBool(a, b *apiextensionsv1.JSONSchemaPropsOrBool) bool {
	return a.Allows == b.Allows && samePointees(a.Schema, b.Schema, same)
}

func samePointees[T any](a, b *T, same func(a, b *T) bool) bool {
	return a == b || a != nil && b != nil && same(a, b)
}

func sameFields(a, b map[string]Props) bool {
	return maps.EqualFunc(a, b, func(a, b Props) bool { return same(&a, &b) })
}

// sameElements reports whether two lists have the same elements in any order.
func sameElements[T any](a, b []T, same func(a, b *T) bool) bool {
	if len(a) != len(b) {
		return false
	}
	var taken []bool // of b, as soon as the order differs
	for i := range a {
		if taken == nil && same(&a[i], &b[i]) {
			continue
		}
		if taken == nil {
			taken = make([]bool, len(b))
			for k := range i {
				taken[k] = true
			}
		}
		k := 0
		for k < len(b) && (taken[k] || !same(&a[i], &b[k])) {
			k++
		}
		if k == len(b) {
			return false
		}
		taken[k] = true
	}
	return true
}
