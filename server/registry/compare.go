package registry

import (
	"context"

	"github.com/crdeval/crdeval/engine"
)

// Comparison selects two CRDs to compare: New with Base or, if Base is absent, with the registered CRD called Name
// (default: the name of New) at Revision (default: the current one).
type Comparison struct {
	New, Base      engine.Document
	Name, Revision string
	Objects        []engine.Document // stored objects to evaluate under both CRDs
}

// Compared is the result of a Comparison.
type Compared struct {
	Diff *engine.Diff
	// Base is the registered CRD, without its manifest; nil if the comparison has its own Base.
	Base *CRD
	// Replayed has a result for each of the objects; nil if the new CRD is rejected.
	Replayed []engine.ReplayResult
}

// Compare returns the changes from the old CRD to the new one, and their effect on the objects. It stores nothing. If
// there are objects, a rejected Base is an *Error with CRDRejected and its report.
func (r *Registry) Compare(ctx context.Context, catalog string, c Comparison, atLeast string) (*Compared, error) {
	_, in, err := r.catalogAt(ctx, catalog, atLeast)
	if err != nil {
		return nil, err
	}
	out, old, fresh, err := r.compare(ctx, in, c)
	if err != nil || fresh == nil {
		return out, err
	}
	items := make([]engine.Item, len(c.Objects))
	for i, object := range c.Objects {
		items[i].Object = object
	}
	if out.Replayed, err = engine.Replay(ctx, old, fresh, items, engine.EvaluationOptions{}); err != nil {
		return nil, err
	}
	return out, nil
}

// compare is Compare without the replay, which needs no slot. fresh is nil if there is nothing to replay.
func (r *Registry) compare(
	ctx context.Context, in *catalog, c Comparison,
) (out *Compared, old, fresh *engine.Definition, err error) {
	slot, err := r.compileSlot(ctx, size(c.New)+size(c.Base))
	if err != nil {
		return nil, nil, nil, err
	}
	defer slot.release()
	b, err := r.base(ctx, in, c)
	if err != nil {
		return nil, nil, nil, err
	}
	o := r.options(in)
	o.Existing, o.Heavy = b.existing, slot.heavy
	out = &Compared{}
	if out.Diff, err = engine.Compare(ctx, b.manifest, c.New, o); err != nil {
		return nil, nil, nil, err
	}
	if b.crd != nil {
		out.Base = b.crd.describe(b.revision)
		for i := range out.Diff.Changes {
			out.Diff.Changes[i].OldPosition = nil // the canonical manifest is not what the caller has
		}
	}
	if len(c.Objects) == 0 || !out.Diff.Report.Accepted {
		return out, nil, nil, nil
	}
	if old, err = r.compileBase(ctx, in, b, &o); err != nil {
		return nil, nil, nil, err
	}
	fresh, report, err := engine.Compile(ctx, c.New, o)
	if err == nil && fresh == nil {
		err = rejected(report, "manifest", "")
	}
	return out, old, fresh, err
}

// base is the old side of a comparison. crd and revision are nil if it is not registered.
type base struct {
	manifest engine.Document
	crd      *crd
	revision *revision
}

func (r *Registry) base(ctx context.Context, c *catalog, comparison Comparison) (*base, error) {
	name := comparison.Name
	if !comparison.Base.Absent() {
		if name != "" || comparison.Revision != "" {
			return nil, errorf(InvalidArgument, metadata{"field": "base"},
				"base: compare either with a manifest or with a registered CRD, not with both")
		}
		return &base{manifest: comparison.Base}, nil
	}
	if name == "" {
		report, err := engine.Check(ctx, comparison.New, r.options(c))
		if err != nil {
			return nil, err
		}
		name = report.Name
	}
	d, err := c.crd(name)
	if err != nil {
		return nil, err
	}
	rev, err := d.revisionAt(comparison.Revision)
	if err != nil {
		return nil, err
	}
	manifest, err := rev.unpack(d)
	if err != nil {
		return nil, err
	}
	return &base{engine.JSON(manifest), d, rev}, nil
}

// existing implements engine.Options.Existing: the new CRD updates the registered one with its name, which has the
// revision of the comparison and the current status.
func (b *base) existing(name string) *engine.Existing {
	if b.crd == nil || b.crd.name != name {
		return nil
	}
	return &engine.Existing{
		Manifest: b.manifest.JSON, Generation: b.crd.record.Generation, Status: *b.crd.record.Status,
	}
}

// compileBase compiles the old side. If it is not registered, it becomes the Existing of o.
func (r *Registry) compileBase(
	ctx context.Context, c *catalog, b *base, o *engine.Options,
) (*engine.Definition, error) {
	if b.crd != nil {
		return r.program(ctx, c, b.crd, b.revision)
	}
	old, report, err := engine.Compile(ctx, b.manifest, r.options(c))
	if err != nil {
		return nil, err
	}
	if old == nil {
		return nil, rejected(report, "base", "base: ")
	}
	oldName, existing, err := engine.ExistingFrom(b.manifest, o.Limits)
	o.Existing = func(name string) *engine.Existing {
		if name != oldName {
			return nil
		}
		return existing
	}
	return old, err
}
