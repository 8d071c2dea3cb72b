package registry

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"weak"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/kubeserver"
	"github.com/crdeval/crdeval/engine/publish"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/server/call"
	"github.com/crdeval/crdeval/server/flow"
)

// catalogView implements View for a catalog of one snapshot.
type catalogView struct {
	registry *Registry
	catalog  *catalog
}

// View returns a catalog at this moment, for the evaluation of one batch. Later writes do not change it.
func (r *Registry) View(ctx context.Context, catalog, atLeast string) (View, error) {
	_, c, err := r.catalogAt(ctx, catalog, atLeast)
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
	g := v.catalog.group(group)
	if d := v.catalog.established(&g, kind); d != nil {
		return v.definition(ctx, d, revision)
	}
	// For a CRD that wants the kind, the error is that it is not established.
	for _, d := range g.waiting.All() {
		if d.desired().Names.Kind == kind {
			return v.definition(ctx, d, revision)
		}
	}
	return nil, errorf(CRDNotFound, metadata{"catalog": v.catalog.name, "group": group, "kind": kind},
		"catalog %q has no CRD for kind %q of group %q: register it, or name the CRD", v.catalog.name, kind, group)
}

// AllCRDs implements View.
func (v catalogView) AllCRDs(established bool) []publish.CRD {
	list := make([]publish.CRD, 0, v.catalog.crds.Len())
	for _, d := range v.catalog.crds.All() {
		if established && !d.established() {
			continue
		}
		list = append(list, d.inDocuments(d.current()))
	}
	return list
}

// DescribeCRD implements View.
func (v catalogView) DescribeCRD(name, revision string) (publish.CRD, error) {
	d, err := v.catalog.crd(name)
	if err != nil {
		return publish.CRD{}, err
	}
	rev, err := d.revisionAt(revision)
	if err != nil {
		return publish.CRD{}, err
	}
	return d.inDocuments(rev), nil
}

// inDocuments describes a revision of the CRD for discovery and OpenAPI documents.
func (c *crd) inDocuments(rev *revision) publish.CRD {
	return publish.CRD{
		Name: c.name, Scope: apiextensionsv1.ResourceScope(rev.summary.Scope), Revision: rev.digest, Versions: rev.summary.Versions,
		Group: rev.summary.Desired.Group, Names: rev.summary.Desired.Names, Status: *c.record.Status,
		Manifest: func(context.Context) ([]byte, error) {
			manifest, _, err := rev.unpack(c)
			return manifest, err
		},
	}
}

// State implements View.
func (v catalogView) State() any { return weak.Make(v.catalog) }

// definition returns an established CRD compiled.
func (v catalogView) definition(ctx context.Context, d *crd, digest string) (*engine.Definition, error) {
	if !d.established() {
		return nil, notEstablished(d)
	}
	rev, err := d.revisionAt(digest)
	if err != nil {
		return nil, err
	}
	return v.registry.program(ctx, v.catalog, d, rev)
}

// program returns a compiled revision, from the cache if possible.
func (r *Registry) program(ctx context.Context, c *catalog, d *crd, rev *revision) (*engine.Definition, error) {
	if program, ok := r.Programs.Cached(rev.digest); ok { // does not allocate the closure below
		return program, nil
	}
	var program *engine.Definition
	var err error
	flow.WaitForWork(ctx, func() { // the build is work of its own, and other callers can wait for it
		for own := new(atomic.Bool); ; {
			program, err = r.Programs.Get(ctx, rev.digest, func(ctx context.Context) (*engine.Definition, error) {
				own.Store(true)
				return r.build(ctx, c, d, rev)
			})
			if own.Load() || !errors.Is(err, call.ErrNoMemory) { // else another caller lacked memory
				return
			}
		}
	})
	return program, err
}

// build compiles a revision for the cache. It charges the memory to a lease of its own of the caller that started it,
// because it does not end with that call.
func (r *Registry) build(ctx context.Context, c *catalog, d *crd, rev *revision) (*engine.Definition, error) {
	lease := call.Of(ctx).Lease.Sibling()
	defer lease.Release()
	manifest, rules, err := rev.unpack(d)
	if err != nil {
		return nil, err
	}
	o := r.options(c)
	o.Conversion, o.Terminating = engine.JSON(rules), rev.summary.Terminating
	return kubeserver.CompileStored(waitForMemory(ctx, lease), manifest, o)
}

func notEstablished(d *crd) error {
	m := metadata{"catalog": d.catalog, "crd": d.name}
	why := cmp.Or(condition(d.record.Status, established).Message, "its status has no condition with the reason")
	if c := condition(d.record.Status, namesAccepted); c.Status == "False" {
		why = c.Message + ", by a CRD that was registered earlier"
		m["conflict"] = c.Reason
	}
	return errorf(CRDNotEstablished, m, "CRD %q of catalog %q is not established: %s", d.name, d.catalog, why)
}
