// Package schema checks the schemas of CRDs: structural schema rules, rejected keywords, list types and the form of
// validation rules. It also orders versions and computes the canonical form and the revision of a CRD.
//
// It works on the types of k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1. Where upstream checks a derived
// structural schema, comments name the corresponding fields.
//
// Package engine/internal/definition checks defaults, which need compiled plans, and runs all checks in upstream's
// order.
package schema

import apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

// Props is a schema as the API declares it.
type Props = apiextensionsv1.JSONSchemaProps
