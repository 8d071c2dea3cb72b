package openapi

import (
	"maps"
	"slices"

	"github.com/crdeval/crdeval/engine/internal/schema"
)

// Descriptions that the API server gives to the fields of every resource.
// (k8s.io/apimachinery/pkg/apis/meta/v1beta1, SwaggerDoc of PartialObjectMetadata and its list)
const (
	metadataText     = "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
	listMetadataText = "Standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"

	embeddedVersionText = "apiVersion defines the versioned schema of this representation of an object. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources"
	embeddedKindText    = "kind is a string value representing the type of this object. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
)

// kind writes the definition of the kind.
// (builder.go, buildKubeNative)
func (w *writer) kind(r *Resource) {
	s := r.Schema
	if s == nil || w.form == V2Form && (schema.Preserves(s) || r.Unpruned) {
		// Only the type: if there were properties, kubectl would reject all others.
		w.open('{')
		w.key("type").text("object")
		w.identity(r, r.Kind)
		w.selectable(r)
		w.close('}')
		return
	}
	w.node(s, r)
}

// node writes a structural node and everything below it. r is nil below the root.
//
// v2 omits in upstream's order: first nullable, then preserve-unknown-fields, then arrays without items, then required
// properties that are nullable.
// (openapi/v2/conversion.go, ToStructuralOpenAPIV2)
func (w *writer) node(s *Props, r *Resource) {
	v2 := w.form == V2Form
	typ, members, element, required := s.Type, s.Properties, schema.Items(s), s.Required
	if v2 {
		if s.Nullable {
			typ, members, element = "", nil, nil
		}
		if schema.Preserves(s) {
			members, element = nil, nil
		}
		if element == nil && typ == "array" || schema.Preserves(s) && typ == "object" {
			typ = ""
		}
		required = requiredV2(s, members)
	}
	embedded := s.XEmbeddedResource && (!v2 || !schema.Preserves(s))
	if embedded {
		for _, name := range []string{"kind", "apiVersion"} {
			if !slices.Contains(required, name) {
				required = append(slices.Clip(required), name)
			}
		}
	}
	w.open('{')
	w.generics(s, typ)
	w.bounds(s)
	w.texts("required", required)
	if element != nil {
		w.key("items").node(element, nil)
	}
	if !v2 {
		w.logical(s, s.XIntOrString && !schema.SaysIntOrString(s)) // as upstream's schema/unfold.go
	}
	w.members(members, r != nil, embedded)
	if a := s.AdditionalProperties; a != nil {
		w.key("additionalProperties")
		if a.Schema != nil {
			w.node(a.Schema, nil)
		} else {
			w.bool(a.Allows)
		}
	}
	w.annotations(s)
	w.extensions(s, r)
	w.close('}')
}

// requiredV2 returns the required properties for v2. v2 has no null, so nullable properties are omitted. If the values
// of a map are nullable, it returns nil.
func requiredV2(s *Props, members map[string]Props) []string {
	if a := s.AdditionalProperties; a != nil && a.Schema != nil && a.Schema.Nullable {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.Required), func(name string) bool { return members[name].Nullable })
}

// members writes the properties of a node. For a resource, the standard fields replace the schema's own.
// (builder.go, addTypeMetaProperties and addEmbeddedProperties)
func (w *writer) members(own map[string]Props, root, embedded bool) {
	resource := root || embedded
	if len(own) == 0 && !resource {
		return
	}
	names := slices.Collect(maps.Keys(own))
	if resource {
		names = append(names, "apiVersion", "kind", "metadata")
	}
	slices.Sort(names)
	w.key("properties").open('{')
	for _, name := range slices.Compact(names) {
		w.key(name)
		switch {
		case resource && name == "metadata":
			w.described(objectMeta, metadataText)
		case embedded && name == "apiVersion":
			w.stringType(embeddedVersionText)
		case embedded && name == "kind":
			w.stringType(embeddedKindText)
		case root && (name == "apiVersion" || name == "kind"):
			w.raw(static().TypeMeta[name])
		default:
			p := own[name]
			w.node(&p, nil)
		}
	}
	w.close('}')
}

func (w *writer) stringType(description string) {
	w.open('{')
	w.key("description").text(description)
	w.key("type").text("string")
	w.close('}')
}

// list writes the definition of the kind's list.
// (builder.go, buildListSchema)
func (w *writer) list(r *Resource) {
	w.open('{')
	w.key("description").text(r.ListKind + " is a list of " + r.Kind)
	w.key("type").text("object")
	w.texts("required", []string{"items"})
	w.key("properties").open('{')
	w.key("apiVersion").raw(static().TypeMeta["apiVersion"])
	w.key("items").open('{')
	w.key("description").text("List of " + r.Plural + ". More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md")
	w.key("type").text("array")
	w.key("items").ref(r.model(r.Kind))
	w.close('}')
	w.key("kind").raw(static().TypeMeta["kind"])
	w.key("metadata").described(listMeta, listMetadataText)
	w.close('}')
	w.identity(r, r.ListKind)
	w.selectable(r)
	w.close('}')
}
