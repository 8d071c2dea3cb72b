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
var atomic = func() sets.Set[string] {
	names := sets.New("io.k8s.api.rbac.v1.RoleRef", "io.k8s.api.rbac.v1.Subject",
		"io.k8s.api.autoscaling.v2.CrossVersionObjectReference",
		"io.k8s.api.discovery.v1.EndpointPort", "io.k8s.api.networking.v1.ServiceBackendPort")
	for _, name := range []string{
		"ConfigMapKeySelector", "EndpointAddress", "EndpointPort", "FileKeySelector", "LocalObjectReference", "NodeSelector",
		"NodeSelectorTerm", "ObjectFieldSelector", "ObjectReference", "ResourceFieldSelector", "ScopeSelector",
		"SecretKeySelector", "SecretReference", "TopologySelectorTerm", "TypedLocalObjectReference",
	} {
		names.Insert("io.k8s.api.core.v1." + name)
	}
	return names
}()

// secondKeys has the second key of the lists whose items two fields identify, by the first key. The tags of the Go
// types have only the first one.
var secondKeys = map[string]string{"containerPort": "protocol", "port": "protocol", "topologyKey": "whenUnsatisfiable"}

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
	// scalar is a struct whose JSON is not an object. OpenAPI v2 has only one type for it.
	scalar interface {
		OpenAPISchemaType() []string
		OpenAPISchemaFormat() string
		OpenAPIV3OneOfTypes() []string
	}
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
	if sc, ok := reflect.Zero(t).Interface().(scalar); ok {
		var v2, v3 common.OpenAPIDefinition
		v2.Schema.Type, v2.Schema.Format = sc.OpenAPISchemaType(), sc.OpenAPISchemaFormat()
		v3.Schema.OneOf = common.GenerateOpenAPIV3OneOfSchema(sc.OpenAPIV3OneOfTypes())
		v3.Schema.Format = sc.OpenAPISchemaFormat()
		d.all[name] = common.EmbedOpenAPIDefinitionIntoV2Extension(v3, v2)
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
		if name == "protocol" && property.Type.Contains("string") {
			property.Default = "TCP" // a key of lists needs its default
		}
		if f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() != reflect.Uint8 {
			addListType(&property, f)
		}
		s.Properties[name] = property
		if options == "" && f.Type.Kind() != reflect.Pointer && name != "metadata" {
			s.Required = append(s.Required, name)
		}
	}
}

// addListType adds how patches and server-side apply merge a list.
func addListType(s *spec.Schema, f reflect.StructField) {
	kind := "atomic"
	if strategy := f.Tag.Get("patchStrategy"); strategy != "" {
		s.AddExtension("x-kubernetes-patch-strategy", strategy)
		kind = "set"
	}
	if key := f.Tag.Get("patchMergeKey"); key != "" {
		s.AddExtension("x-kubernetes-patch-merge-key", key)
		keys := []any{key}
		if second := secondKeys[key]; second != "" && hasField(f.Type.Elem(), second) {
			keys = append(keys, second)
		}
		s.AddExtension("x-kubernetes-list-map-keys", keys)
		kind = "map"
	}
	s.AddExtension("x-kubernetes-list-type", kind)
}

// hasField reports whether a struct has a field with a name in JSON.
func hasField(t reflect.Type, name string) bool {
	for f := range t.Fields() {
		if got, _, _ := strings.Cut(f.Tag.Get("json"), ","); got == name {
			return true
		}
	}
	return false
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
