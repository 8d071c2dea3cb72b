// Package schema knows what a CRD's schema may say: the rules of structural schemas, the keywords that are rejected,
// what lists and rules must look like. It also knows the order of versions, who serves and who stores, and the
// canonical form of a CRD from which its revision is taken.
//
// It works on the API's own types (k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1) and keeps no model of its
// own: the compiler in engine/internal/plan reads the same types. Where the reference looks at a structural schema that
// it derived first, the comments say which of its fields stands for which of ours.
//
// It does not check defaults against their schemas, since that needs compiled programs: engine/internal/definition
// does, and puts everything here in the order of a registration.
package schema

import apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

// Props is a schema as a CRD spells it.
type Props = apiextensionsv1.JSONSchemaProps
