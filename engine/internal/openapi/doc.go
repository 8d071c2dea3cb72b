// Package openapi knows the OpenAPI documents in which an API server publishes custom resources: v3, a document for each group and version, and v2, one for
// all. It writes them as JSON, byte for byte what a Kubernetes 1.37 serves at v3, so that the ETags are its own, too.
//
// A document is made of parts: Build writes what one version of one CRD contributes, in one form (schema.go, clause.go, paths.go, operation.go), and V3, V2 and
// Index put parts together (document.go). What all custom resources share comes from static.json, which `make generate` takes out of upstream's own packages:
// they weigh too much to be linked.
//
// The package does not know which CRDs are established, nor what is worth keeping: engine says so.
//
// (k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder, .../openapi/v2, .../openapiv3; k8s.io/kube-openapi/pkg/builder and builder3)
package openapi

import apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

// Form is one of the two forms of a document.
type Form int

// The forms.
const (
	// V3Form says all that a schema says, defaults, junctors and null included.
	V3Form Form = iota
	// V2Form is lossy: what OpenAPI v2 and the kubectl of its days cannot express is left out.
	V2Form
)

// reference is what precedes the name of a definition in a $ref.
func (f Form) reference() string {
	if f == V2Form {
		return "#/definitions/"
	}
	return "#/components/schemas/"
}

// Props is a schema as a CRD spells it.
type Props = apiextensionsv1.JSONSchemaProps
