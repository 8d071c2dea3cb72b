package schema

import (
	"slices"

	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/engine/value"
)

// Publishable reports whether the API server publishes a schema in its OpenAPI documents: it has to be structural and
// name types that OpenAPI knows. Of CRDs that were created at v1 all are; those that were stored before may have
// others.
// (k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder/builder.go, generateBuilder)
func Publishable(s *Props) bool {
	if Any(s, func(s *Props) bool { return s.Type != "" && !slices.Contains(types, s.Type) }) || Unsupported(s) != nil {
		return false
	}
	room := violation.NewRoom(value.Limits{})
	return len(Structural(nil, s, room)) == 0
}

// SaysIntOrString reports whether a schema spells out what x-kubernetes-int-or-string means, in one of the two patterns
// that structural schemas allow.
func SaysIntOrString(s *Props) bool { return isIntOrString(s.AnyOf) || startsWithIntOrString(s) }
