package registry

import (
	"context"
	"fmt"
	"weak"

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
	if d, ok := v.catalog.kinds.Get(groupKind{group, kind}); ok {
		return v.definition(ctx, d, revision)
	}
	// One that asks for the kind and is not established: the answer is that, not "not found".
	for _, d := range v.catalog.group(group).waiting.All() {
		if d.standing().Names.Kind == kind {
			return v.definition(ctx, d, revision)
		}
	}
	return nil, &Error{
		Reason: CRDNotFound, Message: fmt.Sprintf("catalog %q has no CRD for kind %q of group %q: register it, or name the CRD", v.catalog.name, kind, group),
		Metadata: map[string]string{"catalog": v.catalog.name, "group": group, "kind": kind},
	}
}

// Discoverable implements View.
func (v catalogView) Discoverable() []engine.DiscoverableCRD {
	list := make([]engine.DiscoverableCRD, 0, v.catalog.crds.Len())
	for _, d := range v.catalog.sorted.All() {
		s := d.current().summary
		list = append(list, engine.DiscoverableCRD{
			Name: d.name, Scope: engine.Scope(s.Scope), Versions: s.Versions, Desired: s.Standing, Status: *d.record.Status,
		})
	}
	return list
}

// Published implements View.
func (v catalogView) Published() []engine.PublishedCRD {
	list := make([]engine.PublishedCRD, 0, v.catalog.crds.Len())
	for _, d := range v.catalog.sorted.All() {
		if !d.established() {
			continue
		}
		rev := d.current()
		names := d.record.Status.AcceptedNames       // which discovery tells
		names.Kind = rev.summary.Standing.Names.Kind // which documents are about
		list = append(list, engine.PublishedCRD{
			Name: d.name, Group: rev.summary.Standing.Group, Revision: rev.digest, Versions: rev.summary.Versions, Names: names,
			Manifest: func(context.Context) ([]byte, error) { return rev.unpack(d) },
		})
	}
	return list
}

// State implements View.
func (v catalogView) State() any { return weak.Make(v.catalog) }

// definition returns the compiled program of a revision, from the cache or built.
func (v catalogView) definition(ctx context.Context, d *crd, digest string) (*engine.Definition, error) {
	if !d.established() {
		return nil, notEstablished(d)
	}
	rev, err := d.at(digest)
	if err != nil {
		return nil, err
	}
	return v.registry.program(ctx, v.catalog, d, rev)
}

// program returns a revision compiled, whether or not its CRD is established.
func (r *Registry) program(ctx context.Context, c *catalog, d *crd, rev *revision) (*engine.Definition, error) {
	if program, ok := r.programs.Cached(rev.digest); ok {
		return program, nil
	}
	return r.programs.Get(ctx, rev.digest, func(ctx context.Context) (*engine.Definition, error) {
		manifest, err := rev.unpack(d)
		if err != nil {
			return nil, err
		}
		return engine.CompileStored(ctx, manifest, r.options(c))
	})
}

// notEstablished says why: names that another CRD has, mostly.
func notEstablished(d *crd) error {
	e := &Error{Reason: CRDNotEstablished, Metadata: map[string]string{"catalog": d.catalog, "crd": d.name}}
	why := "its status has no condition that says why"
	if c := condition(d.record.Status, established); c != nil {
		why = c.Message
	}
	if c := condition(d.record.Status, namesAccepted); c != nil && c.Status == "False" {
		why = c.Message + ", by a CRD registered before it"
		e.Metadata["conflict"] = c.Reason
	}
	e.Message = fmt.Sprintf("CRD %q of catalog %q is not established: %s", d.name, d.catalog, why)
	return e
}
