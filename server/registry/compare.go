package registry

import (
	"context"
	"fmt"

	"github.com/crdeval/crdeval/engine"
)

// Comparison says which two CRDs to compare: New with Base or, if that is absent, with what is registered as Name, at Revision or, if that is empty,
// at its current one; without a Name, with the one that has New's name.
type Comparison struct {
	New, Base      engine.Document
	Name, Revision string
	Objects        []engine.Document // to try both on, as stored by the old one
}

// Compared is the answer to a Comparison.
type Compared struct {
	Diff *engine.Diff
	// Base is the registered CRD at the revision that New was compared with, without its manifest; nil if the comparison brought its own.
	Base *CRD
	// Replayed has an entry for each of the objects, in their order; it is nil if the new CRD is refused.
	Replayed []engine.ReplayResult
}

// Compare says what would change if the new CRD of a comparison replaced the other one, and how the objects would fare. It stores nothing. A Base that
// is refused, where there are objects to try it on, is an *Error CRD_REJECTED with its report.
func (r *Registry) Compare(ctx context.Context, catalog string, c Comparison, atLeast string) (*Compared, error) {
	s, err := r.at(ctx, atLeast)
	if err != nil {
		return nil, err
	}
	in, err := s.catalog(catalog)
	if err != nil {
		return nil, err
	}
	out, p, err := r.compare(ctx, in, c)
	if err != nil || p == nil {
		return out, err
	}
	items := make([]engine.Item, len(c.Objects))
	for i, object := range c.Objects {
		items[i].Object = object
	}
	if out.Replayed, err = engine.Replay(ctx, p.old, p.fresh, items, engine.EvaluationOptions{}); err != nil {
		return nil, err
	}
	return out, nil
}

// pair are the two sides of a comparison, compiled.
type pair struct{ old, fresh *engine.Definition }

// compare is Compare when its turn has come, up to the replay, which is evaluation and takes no place. The pair is nil if there is nothing to replay.
func (r *Registry) compare(ctx context.Context, in *catalog, c Comparison) (*Compared, *pair, error) {
	place, err := r.place(ctx, size(c.New)+size(c.Base))
	if err != nil {
		return nil, nil, err
	}
	defer place.done()
	b, err := r.base(ctx, in, c)
	if err != nil {
		return nil, nil, err
	}
	o := r.options(in)
	o.Existing, o.Heavy = b.existing, place.heavy
	out := &Compared{}
	if b.crd != nil {
		out.Base = b.crd.describe(b.revision)
	}
	if out.Diff, err = engine.Compare(ctx, b.manifest, c.New, o); err != nil {
		return nil, nil, err
	}
	if b.crd != nil {
		for i := range out.Diff.Changes {
			out.Diff.Changes[i].OldPosition = nil // nobody has seen the canonical text that it is a place in
		}
	}
	if len(c.Objects) == 0 || !out.Diff.Report.Accepted {
		return out, nil, nil
	}
	p, err := r.pair(ctx, in, b, c.New, o)
	if err != nil {
		return nil, nil, err
	}
	return out, p, nil
}

// base is the old side of a comparison.
type base struct {
	manifest engine.Document
	crd      *crd // that is registered, nil for a manifest that came along
	revision *revision
}

func (r *Registry) base(ctx context.Context, c *catalog, comparison Comparison) (*base, error) {
	if !comparison.Base.Absent() {
		if comparison.Name != "" || comparison.Revision != "" {
			return nil, &Error{
				Reason: InvalidArgument, Message: "base: compare either with a manifest or with a registered CRD, not with both", Metadata: map[string]string{"field": "base"},
			}
		}
		return &base{manifest: comparison.Base}, nil
	}
	name := comparison.Name
	if name == "" {
		o := r.options(c)
		report, err := engine.Check(ctx, comparison.New, o)
		if err != nil {
			return nil, err
		}
		name = report.Name
	}
	d, err := c.crd(name)
	if err != nil {
		return nil, err
	}
	rev, err := d.at(comparison.Revision)
	if err != nil {
		return nil, err
	}
	manifest, err := rev.unpack(d)
	if err != nil {
		return nil, err
	}
	return &base{manifest: engine.JSON(manifest), crd: d, revision: rev}, nil
}

// existing is what the new CRD updates, where that is registered: at the revision compared with, with the status of now.
func (b *base) existing(name string) *engine.Existing {
	if b.crd == nil || b.crd.name != name {
		return nil
	}
	return &engine.Existing{Manifest: b.manifest.JSON, Generation: b.crd.record.Generation, Status: *b.crd.record.Status}
}

// pair compiles both sides.
func (r *Registry) pair(ctx context.Context, c *catalog, b *base, manifest engine.Document, o engine.Options) (*pair, error) {
	var old *engine.Definition
	var err error
	if b.crd != nil {
		old, err = r.program(ctx, c, b.crd, b.revision)
	} else {
		old, err = r.compileBase(ctx, c, b)
	}
	if err != nil {
		return nil, err
	}
	if b.crd == nil {
		was, existing, err := engine.ExistingFrom(b.manifest, o.Limits)
		if err != nil {
			return nil, err
		}
		o.Existing = func(name string) *engine.Existing {
			if name != was {
				return nil
			}
			return existing
		}
	}
	fresh, report, err := engine.Compile(ctx, manifest, o)
	if err != nil {
		return nil, err
	}
	if fresh == nil {
		return nil, &Error{Reason: CRDRefused, Message: report.Rejection.Message, Report: report, Metadata: map[string]string{"field": "manifest"}}
	}
	return &pair{old, fresh}, nil
}

func (r *Registry) compileBase(ctx context.Context, c *catalog, b *base) (*engine.Definition, error) {
	d, report, err := engine.Compile(ctx, b.manifest, r.options(c))
	if err == nil && d == nil {
		err = &Error{
			Reason: CRDRefused, Message: fmt.Sprintf("base: %s", report.Rejection.Message), Report: report, Metadata: map[string]string{"field": "base", "crd": report.Name},
		}
	}
	return d, err
}
