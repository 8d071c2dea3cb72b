package main

import (
	"context"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/diff"
	"github.com/crdeval/crdeval/engine/kubeserver"
	"github.com/crdeval/crdeval/engine/workspace"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/api"
	"github.com/crdeval/crdeval/server/registry"
)

// comparer compares CRDs.
type comparer interface {
	// compare compares a CRD of NEW with that of OLD, or with a registered one. An error that is not a *documentError ends
	// the run.
	compare(ctx context.Context, c *comparison) (*compared, error)
	close()
}

// comparison is a pair of CRDs and the objects that are replayed under both.
type comparison struct {
	old     *workspace.Manifest // nil: OLD does not have the CRD, or it is a registered one
	new     *workspace.Manifest
	objects []*workspace.Manifest
	tries   int // bounds the search for a counterexample of a change; 0: no search

	crd, revision string // of the registered CRD, "" for the default
}

// compared is the result of a comparison. Its positions are those in the files.
type compared struct {
	diff     *crdevalv1.DiffCrdResponse
	replayed []*crdevalv1.ReplayResult
}

// documentError is why a document could not be compared.
type documentError struct {
	at   *workspace.Manifest
	text string
	line int // 0 if it is not known
}

func (e *documentError) Error() string { return e.text }

// brokenCRD returns the document of a comparison that has an error.
func (c *comparison) brokenCRD() *workspace.Manifest {
	if c.old != nil {
		if _, _, err := kubeserver.ExistingFrom(c.old.Document, engine.Limits{}); err != nil {
			return c.old
		}
	}
	return c.new
}

func (l *local) compare(ctx context.Context, c *comparison) (*compared, error) {
	do := l.comparePair
	if c.old == nil {
		do = l.compareCreated
	}
	done, err := do(ctx, c)
	if err = localError(ctx, err); err != nil {
		line, _ := placeOf(err, nil)
		return nil, &documentError{c.brokenCRD(), err.Error(), line}
	}
	return done, nil
}

// compareCreated checks a CRD that OLD does not have.
func (l *local) compareCreated(ctx context.Context, c *comparison) (*compared, error) {
	report, err := engine.Check(ctx, c.new.Document, engine.Options{Kubernetes: l.kubernetes})
	if err != nil {
		return nil, err
	}
	result := &diff.Result{Class: diff.Compatible, Report: report}
	if !report.Accepted {
		result.Class = diff.Breaking
	}
	return &compared{diff: api.DiffMessage(result, nil)}, nil
}

// comparePair compares two CRDs. The old one is taken as it is, without a check.
func (l *local) comparePair(ctx context.Context, c *comparison) (*compared, error) {
	o := engine.Options{Kubernetes: l.kubernetes}
	result, err := diff.Compare(ctx, c.old.Document, c.new.Document, o)
	if err != nil {
		return nil, err
	}
	replays := result.Report.Accepted && len(c.objects) > 0
	searches := c.tries > 0 || result.Undecided()
	if !searches && !replays {
		return &compared{diff: api.DiffMessage(result, nil)}, nil
	}
	name, existing, err := kubeserver.ExistingFrom(c.old.Document, engine.Limits{})
	if err != nil {
		return nil, err
	}
	old, err := kubeserver.CompileStored(ctx, existing.Manifest, o)
	if err != nil {
		return nil, err
	}
	if result.Report.Accepted {
		o.Existing = func(wanted string) *engine.Existing {
			if wanted != name {
				return nil
			}
			return existing
		}
	}
	d, _, err := engine.Compile(ctx, c.new.Document, o)
	if err != nil {
		return nil, err
	}
	if d == nil { // the report of the comparison says why
		return &compared{diff: api.DiffMessage(result, nil)}, nil
	}
	var found []diff.Counterexample
	if searches {
		found, err = diff.Counterexamples(ctx, old, d, result, (&registry.Comparison{Tries: c.tries}).Search())
		if err != nil {
			return nil, err
		}
	}
	done := &compared{diff: api.DiffMessage(result, found)}
	if replays {
		done.replayed, err = replay(ctx, old, d, c.objects)
	}
	return done, err
}

// replay evaluates objects under two CRDs.
func replay(
	ctx context.Context, old, d *engine.Definition, objects []*workspace.Manifest,
) ([]*crdevalv1.ReplayResult, error) {
	items := make([]engine.ObjectWrite, len(objects))
	for i, m := range objects {
		items[i] = engine.Create{Object: m.Document}
	}
	results, err := diff.Replay(ctx, old, d, items, engine.FieldValidationWarn)
	if err != nil {
		return nil, err
	}
	messages := make([]*crdevalv1.ReplayResult, len(results))
	for i := range results {
		messages[i] = api.ReplayMessage(&results[i])
		if err := localError(ctx, results[i].Err); err != nil {
			messages[i].Error = api.ErrorMessage(err)
		}
	}
	return messages, nil
}
