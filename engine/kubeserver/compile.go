package kubeserver

import (
	"context"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/internal/compiled"
)

// CompileStored compiles the result of engine.Definition.Manifest: a CRD that was accepted before and is not checked again. The
// hook Grow of package host is called for the memory that this needs.
func CompileStored(ctx context.Context, canonical []byte, o engine.Options) (*engine.Definition, error) {
	d, err := compiled.CompileStored(ctx, canonical, o)
	if err != nil {
		return nil, err
	}
	return d.(*engine.Definition), nil
}

// CompileAsStored compiles a CRD as another API server stores or serves it, with its status, and does not judge it. It
// also returns the decoded CRD with upstream's defaults. The Definition is terminating if the CRD is being deleted, as in
// an API server, or if o.Terminating is set. Of o.Existing, only the conversion rules are used. Errors are those of
// engine.Check, and an *engine.Error with ReasonManifestUnreadable for a CRD that no API server stores: without a name, group, kind or
// version, with two versions of a name, or without exactly one storage version.
func CompileAsStored(ctx context.Context, manifest engine.Document, o engine.Options) (
	*engine.Definition, *apiextensionsv1.CustomResourceDefinition, error) {
	d, crd, err := compiled.CompileAsStored(ctx, compiled.Document(manifest), o)
	if err != nil {
		return nil, nil, err
	}
	return d.(*engine.Definition), crd, nil
}
