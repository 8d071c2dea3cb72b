package rule

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/crdeval/crdeval/engine/internal/closure"
)

// Scope is a place in the schema of one version, as rules see it: the type of self. Root makes the first one, the others descend from it. Scopes
// live while a version is checked or compiled and are then dropped. They are used by one goroutine.
//
// Upstream: schema/cel/validation.go, validator.
type Scope struct {
	// Props is the schema at the place.
	Props *apiextensionsv1.JSONSchemaProps
	// Decl is its CEL declaration with the sizes that estimates need; nil if expressions cannot see the place at all.
	Decl *apiservercel.DeclType
	// ResourceRoot: the place is the root of a CRD or an embedded resource, where apiVersion, kind, metadata.name and metadata.generateName
	// are always declared.
	ResourceRoot bool
}

// Root is the scope of a version's root.
func Root(s *apiextensionsv1.JSONSchemaProps) *Scope { return &Scope{Props: s, ResourceRoot: true} }

// Property is the scope of a declared property, nil where upstream drops it from evaluation: its rules, and those below, never run.
func (s *Scope) Property(name string) *Scope { return nil }

// Items is the scope of the elements of an array, nil if the schema has no items.
func (s *Scope) Items() *Scope { return nil }

// Additional is the scope of the values of additionalProperties, nil if these have no schema.
func (s *Scope) Additional() *Scope { return nil }

// Type is the place's type for values, shared with equal ones of the version. It is never nil.
func (s *Scope) Type() *closure.Type { return nil }
