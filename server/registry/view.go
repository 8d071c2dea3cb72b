package registry

import (
	"context"
	"fmt"

	"github.com/crdeval/crdeval/engine"
)

// catalogView is a catalog of one snapshot.
type catalogView struct {
	registry *Registry
	catalog  *catalog
}

var _ View = catalogView{}

// View returns a catalog as it is now, for the evaluation of one batch. Writes that come later do not change it.
func (r *Registry) View(ctx context.Context, catalog, atLeast string) (View, error) {
	s, err := r.at(ctx, atLeast)
	if err != nil {
		return nil, err
	}
	c, err := s.catalog(catalog)
	if err != nil {
		return nil, err
	}
	return catalogView{r, c}, nil
}

// Named implements View.
func (v catalogView) Named(ctx context.Context, name, revision string) (*engine.Definition, error) {
	d, err := v.catalog.crd(name)
	if err != nil {
		return nil, err
	}
	return v.definition(ctx, d, revision)
}

// OfKind implements View.
func (v catalogView) OfKind(ctx context.Context, group, kind, revision string) (*engine.Definition, error) {
	d := v.catalog.kinds[groupKind{group, kind}]
	if d == nil {
		return nil, &Error{
			Reason: CRDNotFound, Message: fmt.Sprintf("catalog %q has no CRD for kind %q of group %q: register it, or name the CRD", v.catalog.name, kind, group),
			Metadata: map[string]string{"catalog": v.catalog.name, "group": group, "kind": kind},
		}
	}
	return v.definition(ctx, d, revision)
}

// definition returns the compiled program of a revision, from the cache or built.
func (v catalogView) definition(ctx context.Context, d *crd, digest string) (*engine.Definition, error) {
	if conflict, refused := v.catalog.refused[d]; refused {
		return nil, &Error{
			Reason:   CRDNotEstablished,
			Message:  fmt.Sprintf("CRD %q of catalog %q is not established: %s, by a CRD registered before it", d.name, d.catalog, conflict.message),
			Metadata: map[string]string{"catalog": d.catalog, "crd": d.name, "conflict": conflict.reason},
		}
	}
	rev, err := d.at(digest)
	if err != nil {
		return nil, err
	}
	return v.registry.programs.Get(ctx, rev.digest, func(ctx context.Context) (*engine.Definition, error) {
		manifest, err := rev.manifest.unpack()
		if err != nil {
			return nil, fmt.Errorf("CRD %q of catalog %q, revision %s: %w", d.name, d.catalog, rev.digest, err)
		}
		o := v.registry.engine
		o.KubernetesMinor = v.catalog.record.KubernetesMinor
		return engine.CompileStored(ctx, manifest, o)
	})
}
