package main

import (
	"context"
	"fmt"
	"time"

	"github.com/crdeval/crdeval/engine/publish"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/api"
	"github.com/crdeval/crdeval/server/cmd/crdeval/catalog"
	"github.com/crdeval/crdeval/server/cmd/crdeval/input"
)

// localEvaluator evaluates with the engine in this process.
type localEvaluator struct {
	workspace *workspace.Workspace
}

func (e *localEvaluator) close() {}

func (e *localEvaluator) registered() bool { return false }

func (e *localEvaluator) report(ctx context.Context, c *workspace.CRD) *crdReport {
	j, compiled := newReport(c.Manifest), e.workspace.Compile(ctx, c)
	if compiled.Err != nil {
		j.fail(localError(ctx, compiled.Err))
		return j
	}
	j.Name, j.Accepted = c.Name, compiled.Accepted
	if compiled.Report != nil {
		j.takeReport(api.ReportMessage(compiled.Report))
	}
	return j
}

func (e *localEvaluator) setRules(ctx context.Context, rules *workspace.Manifest, crds []*workspace.CRD) (*crdReport, error) {
	j := newReport(rules)
	j.Name = rules.CRD
	for _, c := range crds {
		d := e.workspace.Compile(ctx, c).Definition
		if d == nil {
			continue
		}
		existing := &engine.Existing{Manifest: d.Manifest(), Generation: 1}
		with, report, err := catalog.CompileConversion(ctx, existing, rules.Document, e.workspace.Options, testedObjects)
		if err != nil {
			return nil, localError(ctx, err)
		}
		j.Accepted = with != nil
		j.takeConversion(api.ConversionReportMessage(report))
		if with != nil {
			c.Replace(with)
		}
		return j, nil
	}
	return nil, catalog.NoCRDForRules(rules.CRD)
}

func (e *localEvaluator) admit(
	ctx context.Context, list []question, o engine.AdmitOptions, limit time.Duration,
) ([]answer, error) {
	answers := make([]answer, len(list))
	each := newItemContext(ctx, limit)
	defer func() { each.stop() }()
	for i, q := range list {
		if each.Err() != nil {
			each = newItemContext(ctx, limit)
		}
		each.restart()
		a := &answers[i]
		d := q.crd.Compiled().Definition
		a.verdict, a.err = d.Admit(each, q.write, o)
		if engine.ReasonOf(a.err) == engine.ReasonConversionUnavailable {
			// The CRD converts with a webhook, which a command does not call. The object is not stored, only validated.
			a.verdict, a.err = d.Validate(each, q.write, engine.ValidateOptions{
				FieldValidation: o.FieldValidation, CompleteMetadata: o.CompleteMetadata, Trace: o.Trace, Brief: o.View == engine.ViewNone,
			})
		}
		if ctx.Err() != nil {
			return nil, input.ErrInterrupted
		}
		a.err = localError(ctx, a.err)
	}
	return answers, nil
}

func (e *localEvaluator) table(
	ctx context.Context, crd *workspace.CRD, version string, objects [][]byte, now time.Time,
) ([]byte, error) {
	documents := make([]engine.Document, len(objects))
	for i, object := range objects {
		documents[i] = engine.JSON(object)
	}
	t, err := publish.TableOf(ctx, crd.Compiled().Definition, version, documents, publish.TableOptions{Now: now, MaxBytes: noLimit})
	if err != nil {
		return nil, err
	}
	return t.JSON(), nil
}

// noLimit is the limit of a command for a table in bytes.
const noLimit = 1 << 30

func (e *localEvaluator) matching(
	ctx context.Context, crd *workspace.CRD, version, selector string, objects [][]byte,
) (matches []bool, err error) {
	d := crd.Compiled().Definition
	s, err := publish.ParseFieldSelector(d, version, selector)
	if err != nil {
		return nil, fmt.Errorf("--field-selector: %w", err)
	}
	for _, object := range objects {
		fields, err := publish.Select(ctx, d, version, engine.JSON(object))
		if err != nil {
			return nil, err
		}
		matches = append(matches, s.Matches(fields))
	}
	return matches, nil
}
