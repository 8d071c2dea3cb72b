package openapi

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/schema"
)

// Props is a schema as written in a CRD.
type Props = apiextensionsv1.JSONSchemaProps

// Resource holds the fields of one version of a CRD that its documents need.
type Resource struct {
	Group, Version, Kind, ListKind, Plural string
	Namespaced, HasStatus, HasScale        bool
	// Unpruned is set if the CRD preserves unknown fields everywhere, which v1beta1 allowed.
	Unpruned bool
	// Selectable lists the JSONPaths of the selectable fields as written in the CRD.
	Selectable []string
	// Schema is nil for a version without a schema, or if it is not published.
	Schema *Props
}

// Describe returns the resource of an existing version. The result shares the schema with the CRD.
func Describe(crd *apiextensionsv1.CustomResourceDefinition, version string) *Resource {
	v, spec := schema.Find(crd, version), &crd.Spec
	r := &Resource{
		Group: spec.Group, Version: version, Kind: spec.Names.Kind, ListKind: spec.Names.ListKind, Plural: spec.Names.Plural,
		Namespaced: spec.Scope == apiextensionsv1.NamespaceScoped, HasStatus: schema.HasStatus(v),
		HasScale: v.Subresources != nil && v.Subresources.Scale != nil, Unpruned: spec.PreserveUnknownFields,
	}
	for _, f := range v.SelectableFields {
		r.Selectable = append(r.Selectable, f.JSONPath)
	}
	if s := schema.Of(v); s != nil && schema.Publishable(s) {
		r.Schema = s
	}
	return r
}

// model returns the definition name of a kind: the reversed words of the group, the version and the kind.
// (builder.go, gvkToModelName)
func (r *Resource) model(kind string) string {
	words := strings.Split(r.Group, ".")
	slices.Reverse(words)
	return strings.Join(append(words, r.Version, kind), ".")
}
