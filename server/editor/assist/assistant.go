package assist

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/workspace"
)

// Assistant completes and explains the fields of texts. Its methods can be called concurrently.
type Assistant struct {
	// CRDs has the CRDs of the objects. It compiles a CRD when the first field of its objects is asked for.
	CRDs *workspace.Workspace
	// ObjectsOnly says that the texts have no CRDs: the kind of CRDs is not a completion.
	ObjectsOnly bool

	mu      sync.Mutex
	schemas map[*workspace.CRD]*apiextensionsv1.CustomResourceDefinition
}

// definition returns what a CRD compiles to, or nil.
func (a *Assistant) definition(ctx context.Context, c *workspace.CRD) *engine.Definition {
	if c == nil {
		return nil
	}
	return a.CRDs.Compile(ctx, c).Definition
}

// Schema returns the schema of the objects of a kind, or nil. c is the CRD that applies to them, or nil.
// CRDs have a schema too.
func (a *Assistant) Schema(ctx context.Context, c *workspace.CRD, apiVersion, kind string) *Schema {
	if c == nil && isCRD(apiVersion, kind) {
		return schemaOfCRD()
	}
	d := a.definition(ctx, c)
	if d == nil {
		return nil
	}
	crd := a.decoded(c, d)
	if crd == nil {
		return nil
	}
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		if v.Name == workspace.VersionOf(apiVersion) && v.Schema != nil && v.Schema.OpenAPIV3Schema != nil {
			return &Schema{props: v.Schema.OpenAPIV3Schema, root: true}
		}
	}
	return nil
}

// decoded returns the decoded manifest of a CRD. It is kept while the workspace has the CRD.
func (a *Assistant) decoded(c *workspace.CRD, d *engine.Definition) *apiextensionsv1.CustomResourceDefinition {
	a.mu.Lock()
	defer a.mu.Unlock()
	if crd := a.schemas[c]; crd != nil {
		return crd
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if json.Unmarshal(d.Manifest(), crd) != nil {
		return nil
	}
	if a.schemas == nil {
		a.schemas = map[*workspace.CRD]*apiextensionsv1.CustomResourceDefinition{}
	}
	all := a.CRDs.CRDs()
	maps.DeleteFunc(a.schemas, func(old *workspace.CRD, _ *apiextensionsv1.CustomResourceDefinition) bool {
		return !slices.Contains(all, old)
	})
	a.schemas[c] = crd
	return crd
}
