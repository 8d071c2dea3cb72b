package registry

import (
	"cmp"
	"context"
	"errors"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/diff"
	"github.com/crdeval/crdeval/engine/kubeserver"
	"github.com/crdeval/crdeval/server/flow"
)

// Comparison selects two CRDs to compare: New with Base or, if Base is absent, with the registered CRD called Name
// (default: the name of New) at Revision (default: the current one).
type Comparison struct {
	New, Base      engine.Document
	Name, Revision string
	Objects        []engine.Document // stored objects to evaluate under both CRDs
	// Tries bounds the search of a counterexample for each change. 0: a short search for changes that the schemas do not
	// decide.
	Tries int
}

// Search returns the options of the search for counterexamples.
func (c *Comparison) Search() diff.SearchOptions {
	if c.Tries == 0 {
		return diff.SearchOptions{Tries: diff.UndecidedTries, Undecided: true}
	}
	return diff.SearchOptions{Tries: c.Tries}
}

// Compared is the result of a Comparison.
type Compared struct {
	Diff *diff.Result
	// Report is that of the Diff. Violations of conversion rules have no positions.
	Report *Report
	// Base is the registered CRD, without its manifest; nil if the comparison has its own Base.
	Base *CRD
	// Replayed has a result for each of the objects; nil if the new CRD is rejected.
	Replayed []diff.ReplayResult
	// Counterexamples are the results of the search, nil without one. If the new CRD is rejected as an update, the search
	// evaluates it as a new CRD. There is no search if it is rejected as a new CRD too.
	Counterexamples []diff.Counterexample
}

// Compare returns the changes from the old CRD to the new one, and their effect on the objects. It stores nothing. If
// there are objects or tries, a rejected Base is an *Error with CRDRejected and its report.
func (r *Registry) Compare(ctx context.Context, catalog string, c Comparison, atLeast string) (*Compared, error) {
	_, in, err := r.catalogAt(ctx, catalog, atLeast)
	if err != nil {
		return nil, err
	}
	var out *Compared
	var old, fresh *engine.Definition
	err = r.Scheduler.Do(ctx, func(ctx context.Context) (err error) {
		out, old, fresh, err = r.compare(ctx, in, c)
		return err
	})
	if err != nil || fresh == nil {
		return out, err
	}
	if c.Tries > 0 || out.Diff.Undecided() {
		err = r.Scheduler.Do(ctx, func(ctx context.Context) (err error) {
			out.Counterexamples, err = diff.Counterexamples(ctx, old, fresh, out.Diff, c.Search())
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if out.Diff.Report.Accepted {
		out.Replayed, err = r.replay(ctx, old, fresh, c.Objects)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// replay replays objects as a batch, so that their conversions share calls of webhooks.
func (r *Registry) replay(
	ctx context.Context, old, fresh *engine.Definition, objects []engine.Document,
) ([]diff.ReplayResult, error) {
	results, errs := make([]diff.ReplayResult, len(objects)), make([]error, len(objects))
	err := r.Scheduler.RunItems(ctx, len(objects), len(objects), func(_ context.Context, work *flow.Work) func(int) {
		return func(i int) {
			errs[i] = work.Item(func(ctx context.Context) error {
				one, err := diff.Replay(ctx, old, fresh, []engine.ObjectWrite{engine.Create{Object: objects[i]}}, engine.FieldValidationWarn)
				if err == nil {
					results[i] = one[0]
				}
				return err
			})
			if late := (*flow.ItemTimeError)(nil); errors.As(errs[i], &late) {
				results[i], errs[i] = diff.ReplayResult{Err: late}, nil
			}
		}
	})
	return results, cmp.Or(err, cmp.Or(errs...))
}

// compare is Compare without the search and the replay. fresh is nil if there is neither.
func (r *Registry) compare(
	ctx context.Context, in *catalog, c Comparison,
) (out *Compared, old, fresh *engine.Definition, err error) {
	o := r.options(in)
	out = &Compared{}
	var d *crd // nil if the old CRD is not registered
	var rev *revision
	if c.Base.Absent() {
		if d, rev, err = r.selected(ctx, in, c); err != nil {
			return nil, nil, nil, err
		}
		manifest, rules, err := rev.unpack(d)
		if err != nil {
			return nil, nil, nil, err
		}
		c.Base, out.Base = engine.JSON(manifest), d.describe(rev)
		o.Existing = existing(d.name, d.existing(manifest))
		o.Conversion = engine.JSON(rules)
	}
	if out.Diff, err = diff.Compare(ctx, c.Base, c.New, o); err != nil {
		return nil, nil, nil, err
	}
	for i := range out.Diff.Changes {
		if d != nil {
			out.Diff.Changes[i].OldPosition = nil // the canonical manifest is not what the caller has
		}
	}
	out.Report = NewReport(out.Diff.Report)
	out.Report.Conversion = withoutPositions(out.Report.Conversion)
	accepted := out.Diff.Report.Accepted
	if c.Tries == 0 && !out.Diff.Undecided() && (len(c.Objects) == 0 || !accepted) {
		return out, nil, nil, nil
	}
	if d != nil {
		old, err = r.program(ctx, in, d, rev)
	} else {
		old, err = r.compileBase(ctx, in, c.Base, &o)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	if !accepted {
		o.Existing = nil
	}
	fresh, report, err := engine.Compile(ctx, c.New, o)
	if err == nil && fresh == nil && accepted {
		err = rejected(NewReport(report), "manifest", "")
	}
	return out, old, fresh, err
}

// selected returns the registered CRD of a comparison and its revision.
func (r *Registry) selected(ctx context.Context, in *catalog, c Comparison) (*crd, *revision, error) {
	if c.Name == "" {
		report, err := engine.Check(ctx, c.New, r.options(in))
		if err != nil {
			return nil, nil, err
		}
		c.Name = report.Name
	}
	d, err := in.crd(c.Name)
	if err != nil {
		return nil, nil, err
	}
	rev, err := d.revisionAt(c.Revision)
	return d, rev, err
}

// compileBase compiles an old CRD that is not registered. It becomes the Existing of o.
func (r *Registry) compileBase(
	ctx context.Context, in *catalog, base engine.Document, o *engine.Options,
) (*engine.Definition, error) {
	old, report, err := engine.Compile(ctx, base, r.options(in))
	if err != nil {
		return nil, err
	}
	if old == nil {
		return nil, rejected(NewReport(report), "base", "base: ")
	}
	name, e, err := kubeserver.ExistingFrom(base, o.Limits)
	o.Existing = existing(name, e)
	return old, err
}

// existing returns an engine.Options.Existing with one CRD.
func existing(name string, e *engine.Existing) func(string) *engine.Existing {
	return func(wanted string) *engine.Existing {
		if wanted != name {
			return nil
		}
		return e
	}
}
