package schema

import (
	"slices"

	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/engine/value"
)

// Publishable reports whether the API server publishes a schema in its OpenAPI documents. The schema must be structural
// and use only OpenAPI types. CRDs that were stored before v1 may have other schemas.
// (k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder/builder.go, generateBuilder)
func Publishable(s *Props) bool {
	if Any(s, func(s *Props) bool { return s.Type != "" && !slices.Contains(types, s.Type) }) || Unsupported(s) != nil {
		return false
	}
	room := violation.NewBudget(value.Limits{})
	return len(Structural(nil, s, room)) == 0
}

// SaysIntOrString reports whether a schema contains one of the two int-or-string patterns of structural schemas.
func SaysIntOrString(s *Props) bool { return isIntOrString(s.AnyOf) || startsWithIntOrString(s) }
