package assist

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// TestSchemaOfCRD compares the fields of crd.yaml with the types of CRDs, and checks that each has a description.
func TestSchemaOfCRD(t *testing.T) {
	// Fields of the types that a structural schema must not have, and those that only the API server writes.
	unused := []string{"id", "$schema", "$ref", "patternProperties", "dependencies", "additionalItems", "definitions",
		"conditions", "acceptedNames", "storedVersions", "observedGeneration"}
	seen := map[reflect.Type]bool{}
	var compare func(path string, s *Schema, of reflect.Type)
	compare = func(path string, s *Schema, of reflect.Type) {
		if s == nil {
			t.Errorf("%s has no schema", path)
			return
		}
		switch of {
		case reflect.TypeFor[apiextensionsv1.JSON]():
			return
		case reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrArray](),
			reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrBool]():
			of = reflect.TypeFor[apiextensionsv1.JSONSchemaProps]()
		}
		want := map[reflect.Kind]string{reflect.String: "string", reflect.Bool: "boolean", reflect.Int32: "integer",
			reflect.Int64: "integer", reflect.Float64: "number", reflect.Slice: "array", reflect.Map: "object",
			reflect.Struct: "object"}[of.Kind()]
		if of == reflect.TypeFor[[]byte]() {
			want = "string"
		}
		switch {
		case of.Kind() == reflect.Pointer:
			compare(path, s, of.Elem())
			return
		case s.props.Type != want:
			t.Errorf("%s has the type %q, want %q", path, s.props.Type, want)
		case want == "array":
			compare(path+"[0]", s.step("0"), of.Elem())
		case of.Kind() == reflect.Map:
			compare(path+".*", s.step("x"), of.Elem())
		case of.Kind() == reflect.Struct && !seen[of]:
			seen[of] = true
			var names, required []string
			for i := range of.NumField() {
				name, options, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
				if name == "" || s.root && name == "metadata" || slices.Contains(unused, name) {
					continue
				}
				names = append(names, name)
				if !strings.Contains(options, "omit") {
					required = append(required, name)
				}
				field := s.step(name)
				compare(path+"."+name, field, of.Field(i).Type)
				if field != nil && !strings.HasSuffix(field.props.Description, ".") {
					t.Errorf("%s.%s has no description", path, name)
				}
			}
			slices.Sort(names)
			if got := slices.Sorted(maps.Keys(s.props.Properties)); !slices.Equal(got, names) {
				t.Errorf("%s has the fields %q, want %q", path, got, names)
			}
			slices.Sort(required)
			if got := slices.Sorted(slices.Values(s.props.Required)); !slices.Equal(got, required) {
				t.Errorf("%s requires %q, want %q", path, got, required)
			}
		}
	}
	compare("crd", schemaOfCRD(), reflect.TypeFor[apiextensionsv1.CustomResourceDefinition]())
}
