package schema

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/quirk"
)

// lists checks x-kubernetes-map-type, x-kubernetes-list-type and x-kubernetes-list-map-keys of one schema.
// (k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go,
// ValidateCustomResourceDefinitionOpenAPISchema)
func (c *checker) lists(s *Props, path *field.Path) {
	if s.XMapType != nil {
		if s.Type != "object" {
			c.add(wrongType(path, s.Type, "must be object if x-kubernetes-map-type is specified"))
		}
		if *s.XMapType != "atomic" && *s.XMapType != "granular" {
			c.add(field.NotSupported(path.Child("x-kubernetes-map-type"), *s.XMapType, []string{"atomic", "granular"}))
		}
	}
	listType := ""
	if s.XListType != nil {
		listType = *s.XListType
		switch {
		case s.Type != "array":
			c.add(wrongType(path, s.Type, "must be array if x-kubernetes-list-type is specified"))
		case listType == "set" && !c.lenient.GranularSets:
			c.add(setItems(Items(s), path.Child("items"))...)
		}
		if listType != "atomic" && listType != "set" && listType != "map" {
			c.add(field.NotSupported(path.Child("x-kubernetes-list-type"), listType, []string{"atomic", "set", "map"}))
		}
	}
	if len(s.XListMapKeys) > 0 {
		if s.XListType == nil {
			c.add(field.Required(path.Child("x-kubernetes-list-type"), "must be map if x-kubernetes-list-map-keys is non-empty"))
		} else if listType != "map" {
			c.add(field.Invalid(path.Child("x-kubernetes-list-type"), listType, "must be map if x-kubernetes-list-map-keys is non-empty"))
		}
	}
	if listType == "map" {
		c.mapList(s, path)
	}
	if quirk.On(quirk.ListKeyErrorsRepeated) && !c.lenient.OptionalKeys && (listType == "set" || listType == "map") && Items(s) != nil {
		c.add(definite(s, listType, path)...)
	}
}

func wrongType(path *field.Path, typ, detail string) *field.Error {
	if typ == "" {
		return field.Required(path.Child("type"), detail)
	}
	return field.Invalid(path.Child("type"), typ, detail)
}

// setItems checks that the items of a set are atomic. As in upstream, both errors show the items' list type as the bad
// value.
func setItems(s *Props, path *field.Path) field.ErrorList {
	const detail = "must be atomic as item of a list with x-kubernetes-list-type=set"
	switch {
	case s == nil:
	case s.Type == "array" && s.XListType != nil && *s.XListType != "atomic":
		return field.ErrorList{field.Invalid(path.Child("x-kubernetes-list-type"), s.XListType, detail)}
	case s.Type == "object" && (s.XMapType == nil || *s.XMapType != "atomic"):
		return field.ErrorList{field.Invalid(path.Child("x-kubernetes-map-type"), s.XListType, detail)}
	}
	return nil
}

// mapList checks a list with x-kubernetes-list-type: map.
func (c *checker) mapList(s *Props, path *field.Path) {
	if len(s.XListMapKeys) == 0 {
		c.add(field.Required(path.Child("x-kubernetes-list-map-keys"), "must not be empty if x-kubernetes-list-type is map"))
	}
	switch {
	case s.Items == nil:
		c.add(field.Required(path.Child("items"), "must have a schema if x-kubernetes-list-type is map"))
		return
	case s.Items.Schema == nil:
		c.add(field.Invalid(path.Child("items"),
			Print(s.Items, apiextensionsv1.Convert_v1_JSONSchemaPropsOrArray_To_apiextensions_JSONSchemaPropsOrArray),
			"must only have a single schema if x-kubernetes-list-type is map"))
		return
	case s.Items.Schema.Type != "object":
		c.add(field.Invalid(path.Child("items").Child("type"), s.Items.Schema.Type, "must be object if parent array's x-kubernetes-list-type is map"))
		return
	}
	for i, k := range s.XListMapKeys {
		if p, ok := s.Items.Schema.Properties[k]; !ok {
			c.add(field.Invalid(path.Child("x-kubernetes-list-map-keys"), s.XListMapKeys, "entries must all be names of item properties"))
		} else if p.Type == "array" || p.Type == "object" {
			c.add(field.Invalid(path.Child("items").Child("properties").Key(k).Child("type"), s.Items.Schema.Type, "must be a scalar type if parent array's x-kubernetes-list-type is map"))
		}
		if slices.Contains(s.XListMapKeys[:i], k) {
			c.add(field.Invalid(path.Child("x-kubernetes-list-map-keys"), s.XListMapKeys, "must not contain duplicate entries"))
		}
	}
}

// definite checks that items of sets and maps are not nullable and that map keys are required or have a default.
// (validation.go, validateMapListKeysMapSet)
func definite(s *Props, listType string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if s.Items.Schema.Nullable {
		errs = append(errs, field.Forbidden(path.Child("items").Child("nullable"), "cannot be nullable when x-kubernetes-list-type is "+listType))
	}
	if listType != "map" {
		return errs
	}
	for _, k := range s.XListMapKeys {
		p, ok := s.Items.Schema.Properties[k]
		if !ok {
			continue // reported by mapList
		}
		at := path.Child("items").Child("properties").Key(k)
		if p.Default == nil && !slices.Contains(s.Items.Schema.Required, k) {
			errs = append(errs, field.Required(at.Child("default"), "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"))
		}
		if p.Nullable {
			errs = append(errs, field.Forbidden(at.Child("nullable"), "this property is in x-kubernetes-list-map-keys, so it cannot be nullable"))
		}
	}
	return errs
}
