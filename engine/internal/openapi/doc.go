// Package openapi builds the OpenAPI documents in which an API server publishes custom resources: one v3 document for
// each group and version, and one v2 document for all. The JSON of v3, and so its ETag, is identical to that of
// Kubernetes 1.37.
//
// Build writes the Part of one version of one CRD in one Form (schema.go, clause.go, paths.go, operation.go). V3, V2
// and Index assemble documents from parts (document.go). static.json holds the definitions that all custom resources
// share. `make generate` extracts it from upstream's packages, which are too large to link.
//
// Package engine selects the established CRDs and caches the documents.
//
// (k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder, .../openapi/v2, .../openapiv3;
// k8s.io/kube-openapi/pkg/builder and builder3)
package openapi

import apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

// Form is the OpenAPI version of a document.
type Form int

// The forms.
const (
	// V3Form includes everything in the schema: defaults, logical operators and nullable.
	V3Form Form = iota
	// V2Form omits everything that OpenAPI v2 and old versions of kubectl do not support.
	V2Form
)

// reference returns the prefix of a definition's name in a $ref.
func (f Form) reference() string {
	if f == V2Form {
		return "#/definitions/"
	}
	return "#/components/schemas/"
}

// Props is a schema as written in a CRD.
type Props = apiextensionsv1.JSONSchemaProps
