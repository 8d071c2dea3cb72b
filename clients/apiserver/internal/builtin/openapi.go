package builtin

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// atomic are the names of the types that have one owner in server-side apply.
var atomic = sets.New("io.k8s.api.core.v1.ObjectReference", "io.k8s.api.rbac.v1.RoleRef", "io.k8s.api.rbac.v1.Subject")

// Definitions returns the OpenAPI definitions of next, of the given types, and of the types of their fields. They come
// from the Go types, whose methods have the descriptions. A type that next describes is not described again.
func Definitions(next common.GetOpenAPIDefinitions, types ...any) common.GetOpenAPIDefinitions {
	return func(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
		d := describer{ref, next(ref)}
		for _, t := range types {
			d.add(reflect.TypeOf(t))
		}
		return d.all
	}
}

type describer struct {
	ref common.ReferenceCallback
	all map[string]common.OpenAPIDefinition
}

type (
	named      interface{ OpenAPIModelName() string }
	documented interface{ SwaggerDoc() map[string]string }
)

// add describes a struct, and returns its name.
func (d describer) add(t reflect.Type) string {
	n, ok := reflect.Zero(t).Interface().(named)
	if !ok {
		panic(fmt.Sprintf("%s has no method OpenAPIModelName", t))
	}
	name := n.OpenAPIModelName()
	if _, known := d.all[name]; known {
		return name
	}
	d.all[name] = common.OpenAPIDefinition{} // ends the recursion of types that contain themselves
	s := spec.Schema{}
	s.Type, s.Properties = spec.StringOrArray{"object"}, map[string]spec.Schema{}
	var needs []string
	d.addFields(t, &s, &needs)
	if atomic.Has(name) {
		s.AddExtension("x-kubernetes-map-type", "atomic")
	}
	slices.Sort(needs)
	d.all[name] = common.OpenAPIDefinition{Schema: s, Dependencies: slices.Compact(needs)}
	return name
}

// addFields adds the fields of a struct to its schema. needs gets the names of their types.
func (d describer) addFields(t reflect.Type, s *spec.Schema, needs *[]string) {
	docs := map[string]string{}
	if documented, ok := reflect.Zero(t).Interface().(documented); ok {
		docs = documented.SwaggerDoc()
	}
	if s.Description == "" {
		s.Description = docs[""]
	}
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
			continue
		case name == "":
			d.addFields(f.Type, s, needs)
			continue
		}
		property := d.schema(f.Type, needs)
		property.Description = docs[name]
		if f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() != reflect.Uint8 {
			addListType(&property, f.Tag)
		}
		s.Properties[name] = property
		if options == "" && f.Type.Kind() != reflect.Pointer && name != "metadata" {
			s.Required = append(s.Required, name)
		}
	}
}

// addListType adds how patches and server-side apply merge a list.
func addListType(s *spec.Schema, tag reflect.StructTag) {
	kind := "atomic"
	if strategy := tag.Get("patchStrategy"); strategy != "" {
		s.AddExtension("x-kubernetes-patch-strategy", strategy)
		kind = "set"
	}
	if key := tag.Get("patchMergeKey"); key != "" {
		s.AddExtension("x-kubernetes-patch-merge-key", key)
		s.AddExtension("x-kubernetes-list-map-keys", []any{key})
		kind = "map"
	}
	s.AddExtension("x-kubernetes-list-type", kind)
}

// schema returns the schema of a field.
func (d describer) schema(t reflect.Type, needs *[]string) (s spec.Schema) {
	switch t.Kind() {
	case reflect.Pointer:
		return d.schema(t.Elem(), needs)
	case reflect.Struct:
		name := d.add(t)
		*needs = append(*needs, name)
		s.Ref = d.ref(name)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return *spec.StrFmtProperty("byte")
		}
		item := d.schema(t.Elem(), needs)
		s = *spec.ArrayProperty(&item)
	case reflect.Map:
		value := d.schema(t.Elem(), needs)
		s = *spec.MapProperty(&value)
	case reflect.String:
		s = *spec.StringProperty()
	case reflect.Bool:
		s = *spec.BooleanProperty()
	case reflect.Int32:
		s = *spec.Int32Property()
	case reflect.Int64:
		s = *spec.Int64Property()
	default:
		panic(fmt.Sprintf("%s has no OpenAPI schema", t))
	}
	return s
}
