package publish

import (
	"cmp"
	"context"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/internal/compiled"
)

// CRD describes a CRD for Discover, OpenAPI and Explain. CRDs without a Name are ignored.
type CRD struct {
	Name     string
	Group    string
	Names    apiextensionsv1.CustomResourceDefinitionNames // of the spec
	Scope    apiextensionsv1.ResourceScope
	Revision string
	Versions []engine.VersionInfo
	// Status is the status of the CRD. OpenAPI documents do not depend on it. If it has no accepted names, Names are used.
	Status apiextensionsv1.CustomResourceDefinitionStatus
	// Manifest returns engine.Definition.Manifest, for OpenAPI documents and Explain. It is called only if the result is not
	// cached. Its errors are returned.
	Manifest func(context.Context) ([]byte, error)
}

// NewCRD describes a compiled CRD with a status: that of the CRD in a cluster, or what kubeserver.ReconcileStatus sets. A
// CRD that is not Established, such as one with the zero status, is missing in the results of Discover.
func NewCRD(d *engine.Definition, status apiextensionsv1.CustomResourceDefinitionStatus) CRD {
	return CRD{
		Name: d.Name(), Group: d.Group(), Names: compiled.Of(d).Desired.Names, Scope: d.Scope(), Revision: d.Revision(),
		Versions: d.Versions(), Status: status, Manifest: func(context.Context) ([]byte, error) { return d.Manifest(), nil },
	}
}

// names returns the names that discovery shows, with the kind that OpenAPI documents show.
func (c *CRD) names() apiextensionsv1.CustomResourceDefinitionNames {
	if c.Status.AcceptedNames.Plural == "" {
		return c.Names
	}
	names := c.Status.AcceptedNames
	names.Kind = c.Names.Kind
	return names
}

func (c *CRD) is(condition apiextensionsv1.CustomResourceDefinitionConditionType) bool {
	return slices.ContainsFunc(c.Status.Conditions, func(x apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return x.Type == condition && x.Status == apiextensionsv1.ConditionTrue
	})
}

func isServed(v engine.VersionInfo) bool { return v.Served }

// inOrder returns the CRDs that have a name, sorted by name.
func inOrder(crds []CRD) []CRD {
	crds = slices.DeleteFunc(slices.Clone(crds), func(c CRD) bool { return c.Name == "" })
	slices.SortStableFunc(crds, func(a, b CRD) int { return cmp.Compare(a.Name, b.Name) })
	return crds
}
