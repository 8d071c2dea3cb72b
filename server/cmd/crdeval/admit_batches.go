package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/durationpb"

	crdeval "github.com/crdeval/crdeval/clients/go"
	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/input"
	"github.com/crdeval/crdeval/server/registry"
)

// admission sends the writes of a run to the service.
type admission struct {
	*service
	command *admitCommand
	options *crdevalv1.EvaluationOptions
	given   []*crdReport // the CRDs of the run
	// accepted has the names of the accepted CRDs. With the name, they take precedence over registered CRDs of the kind.
	accepted map[groupKind]string
	maxCRDs  int // in a request
}

type groupKind struct{ group, kind string }

// register registers CRDs of the run, and sets conversion rules.
func (a *admission) register(ctx context.Context, list []*input.Source) (reports []*crdReport) {
	for _, s := range list {
		if s.Conversion {
			reports = append(reports, a.setConversion(ctx, s))
			continue
		}
		j := a.registerCRD(ctx, s, s.Established())
		reports = append(reports, j)
		a.given = append(a.given, j)
		// If several CRDs define a kind, the first is used.
		if of := (groupKind{s.CRDFields.Group, s.CRDFields.Kind}); j.Accepted && a.accepted[of] == "" {
			a.accepted[of] = j.Name
		}
	}
	return reports
}

func newAdmission(ctx context.Context, c *admitCommand, s *service, crds int) (*admission, error) {
	limits, err := s.Limits(ctx)
	if err != nil {
		return nil, s.fail("", err)
	}
	options := &crdevalv1.EvaluationOptions{
		FieldValidation:  fieldValidationOf(c.FieldValidation),
		CompleteMetadata: true, ItemTimeout: durationpb.New(c.ItemTimeout),
	}
	if c.Explain {
		options.Trace = crdevalv1.TraceMode_TRACE_MODE_FAILED
	}
	a := &admission{
		service: s, command: c, options: options, accepted: map[groupKind]string{}, maxCRDs: int(limits.GetMaxInlineCrds()),
	}
	return a, a.checkCRDs(crds)
}

// checkCRDs returns an error if the service takes fewer CRDs in a request.
func (a *admission) checkCRDs(n int) error {
	if a.local == nil && n > a.maxCRDs {
		return fmt.Errorf("%s: %d CRDs are given, but a request can contain %d: register them, or run without --server",
			a.command.Server, n, a.maxCRDs)
	}
	return nil
}

// run evaluates the writes and calls report for each of them, in order. It clears writes, so that the memory of those
// that were reported can be reused.
func (a *admission) run(ctx context.Context, writes []*write, report func(*outcome) error) error {
	type evaluated struct {
		outcomes []*outcome
		err      error
	}
	batches := slices.Collect(slices.Chunk(writes, maxBatch))
	for of := range input.InOrder(batches, func(batch []*write) (of evaluated) {
		of.outcomes, of.err = a.evaluate(ctx, batch)
		clear(batch)
		return of
	}) {
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		if of.err != nil {
			return of.err
		}
		for _, o := range of.outcomes {
			if err := report(o); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxBatch bounds the writes between two reports of progress.
const maxBatch = 200

// evaluate returns the outcomes of a batch of writes.
func (a *admission) evaluate(ctx context.Context, writes []*write) ([]*outcome, error) {
	outcomes := make([]*outcome, len(writes))
	var sent []*outcome
	for i, w := range writes {
		outcomes[i] = newOutcome(a.command, w)
		if w.skip != "" {
			outcomes[i].Skipped = w.skip
		} else if err := a.unsendable(w); err != nil {
			a.fail(outcomes[i], err, errors.Is(err, errUntyped) && w.apiVersion == "" && w.kind == "")
		} else {
			sent = append(sent, outcomes[i])
		}
	}
	sent, err := a.screen(ctx, sent)
	if err != nil {
		return nil, err
	}
	results, err := a.admit(ctx, sent, a.options)
	if err != nil {
		return nil, err
	}
	var strict []*outcome
	for i, result := range results {
		o := sent[i]
		if result.Err != nil {
			otherKind, err := false, a.manifestError(result.Err)
			if e := (*engine.Error)(nil); errors.As(err, &e) && e.Reason == engine.Reason(registry.CRDNotFound) {
				otherKind, err = noCRD(a.given, o.write.apiVersion, o.write.kind)
			}
			a.fail(o, err, otherKind)
			continue
		}
		if o.take(result.Verdict); strings.Contains(result.Verdict.GetRejection().GetMessage(), "strict decoding error") {
			strict = append(strict, o)
		}
	}
	return outcomes, a.validateDecoded(ctx, strict)
}

// screen sets the verdicts of writes that are allowed without a warning, if the output needs nothing else. It returns
// the other outcomes. The verdict alone takes half the time of one with the object and its changes.
func (a *admission) screen(ctx context.Context, list []*outcome) (others []*outcome, _ error) {
	c := a.command
	if !slices.Contains([]string{"text", "junit", "sarif", "github"}, c.Output) || c.Explain || c.FieldValidation == "ignore" { // pruned fields are printed
		return list, nil
	}
	results, err := a.admit(ctx, list, &crdevalv1.EvaluationOptions{
		FieldValidation: a.options.GetFieldValidation(), CompleteMetadata: true, ItemTimeout: a.options.GetItemTimeout(),
		View: crdevalv1.ObjectView_OBJECT_VIEW_NONE,
	})
	for i, result := range results {
		if v := result.Verdict; result.Err == nil && v.GetAllowed() && len(v.GetWarnings()) == 0 {
			list[i].take(v)
		} else {
			others = append(others, list[i])
		}
	}
	return others, err
}

// validateDecoded adds the violations that remain once unknown and duplicate fields are fixed.
func (a *admission) validateDecoded(ctx context.Context, rejected []*outcome) error {
	options := &crdevalv1.EvaluationOptions{
		FieldValidation:  crdevalv1.FieldValidation_FIELD_VALIDATION_IGNORE,
		CompleteMetadata: true, ItemTimeout: a.options.GetItemTimeout(), View: crdevalv1.ObjectView_OBJECT_VIEW_NONE,
	}
	results, err := a.admit(ctx, rejected, options)
	for i, result := range results {
		rejected[i].takeNext(result.Verdict.GetViolations())
	}
	return err
}

// admit sends the writes of outcomes.
func (a *admission) admit(
	ctx context.Context, list []*outcome, options *crdevalv1.EvaluationOptions,
) ([]crdeval.Result, error) {
	var items []*crdevalv1.EvaluationItem
	for _, o := range list {
		items = append(items, a.item(o.write))
	}
	results, err := a.With(a.inline...).AdmitItems(ctx, items, crdeval.AdmitOptions{Evaluation: options})
	if err != nil {
		return nil, a.service.fail("", err)
	}
	return results, nil
}

// item returns the request for a write.
func (a *admission) item(w *write) *crdevalv1.EvaluationItem {
	item := &crdevalv1.EvaluationItem{
		Crd: a.accepted[groupKind{input.GroupOf(w.apiVersion), w.kind}], Patch: w.patch,
		Subresource: a.command.Subresource, Namespace: a.command.key(&w.Identity).namespace,
	}
	if w.old != nil {
		item.OldObject = toDocument(w.old.Document)
	}
	if w.patch == nil {
		item.Object = toDocument(w.Document)
	}
	return item
}

// unsendable returns why a write cannot be evaluated, if that is known without the service.
func (a *admission) unsendable(w *write) error {
	switch {
	case a.command.Subresource != "" && w.old == nil:
		return fmt.Errorf("--old has no object of its kind, namespace and name, so there is no %s to update",
			a.command.Subresource)
	case w.Err != nil:
		return w.Err
	case w.apiVersion == "" || w.kind == "":
		return errUntyped
	}
	return nil
}

// fail records why a write could not be evaluated, or that it is skipped.
func (a *admission) fail(o *outcome, err error, otherKind bool) {
	if otherKind && a.command.SkipOtherKinds {
		o.Skipped = err.Error()
		return
	}
	text, line, _ := o.write.Describe(err)
	if o.Error = text; line > 0 {
		o.Line = line
	}
}

// noCRD returns the error for an object whose kind has no CRD. otherKind is true if no given CRD has its group.
func noCRD(given []*crdReport, apiVersion, kind string) (otherKind bool, err error) {
	if apiVersion == "v1" && kind == "List" {
		return false, errors.New("the field items of the List is missing or not a list")
	}
	var kinds []string
	for _, j := range given {
		s := j.source
		switch {
		case !strings.EqualFold(s.CRDFields.Group, input.GroupOf(apiVersion)):
		case s.CRDFields.Kind == kind && j.Error != "":
			return false, fmt.Errorf("its CRD in %s could not be checked", s.Where())
		case s.CRDFields.Kind == kind && !j.Accepted:
			return false, fmt.Errorf("its CRD in %s was rejected", s.Where())
		case strings.EqualFold(s.CRDFields.Kind, kind):
			return false, fmt.Errorf("no CRD for %s (%s): did you mean %s (%s)?",
				kind, apiVersion, s.CRDFields.Kind, s.CRDFields.Group)
		case !slices.Contains(kinds, s.CRDFields.Kind):
			kinds = append(kinds, s.CRDFields.Kind)
		}
	}
	if len(kinds) > 0 {
		return false, fmt.Errorf("no CRD for %s (%s): the given CRDs of this group have the kinds %s",
			kind, apiVersion, strings.Join(kinds, ", "))
	}
	return true, fmt.Errorf("no CRD for %s (%s): use --crds, or add the CRD to the files", kind, apiVersion)
}
