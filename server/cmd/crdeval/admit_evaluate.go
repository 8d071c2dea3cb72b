package main

import (
	"context"
	"errors"
	"slices"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/rules"
	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/registry"
)

// asked is an outcome that needs answers, one for each of the CRDs.
type asked struct {
	*outcome
	crds []*workspace.CRD // nil: the one that the service has
}

// evaluate returns the outcomes of a batch of writes.
func (a *admission) evaluate(ctx context.Context, writes []*write) ([]*outcome, error) {
	outcomes := make([]*outcome, len(writes))
	var open []asked
	for i, w := range writes {
		o := newOutcome(a.command, w)
		outcomes[i] = o
		if crds, ask := a.candidates(ctx, o); ask {
			open = append(open, asked{o, crds})
		}
	}
	open, err := a.screen(ctx, open)
	if err == nil {
		err = a.answerWithTraces(ctx, open)
	}
	for _, of := range open {
		a.finish(of.outcome)
		for i := range of.answers {
			if v := of.answers[i].Verdict; v != nil && a.options.Trace == rules.TraceNone {
				v.Traces, v.OmittedTraces = nil, 0 // of answerWithTraces
			}
		}
	}
	return outcomes, err
}

// candidates returns the CRDs that apply to the object of an outcome, and whether it is evaluated. If not, the outcome
// says why.
func (a *admission) candidates(ctx context.Context, o *outcome) (crds []*workspace.CRD, ask bool) {
	w := o.write
	reason := a.command.skipReason(w.Manifest)
	switch {
	case reason != "":
		o.skip(skipKind, reason)
	case w.IsTemplate:
		if w.Err != nil {
			o.Class = workspace.ClassUnreadable
		}
		o.skip(workspace.SkipTemplate, "a part of a template: it contains {{ or {%")
	case w.AsCRD() != nil:
		o.Class = workspace.ClassFragment
		o.skip(string(o.Class), "the CustomResourceDefinition has no group, kind or versions")
	case w.Err != nil && a.command.Repository && !w.MayBeObject():
		o.Class = workspace.ClassUntyped
		o.skip(string(o.Class), "it cannot be read, and its file has no apiVersion and no kind")
	case w.Err != nil:
		o.fail(workspace.ClassUnreadable, w.Err)
	case w.err != nil:
		o.fail(workspace.ClassObject, w.err)
	case !w.IsTyped():
		if o.Class = workspace.ClassUntyped; a.command.SkipOtherKinds {
			o.skip(string(o.Class), errUntyped.Error())
		} else {
			o.fail(o.Class, errUntyped)
		}
	default:
		crds, err := a.workspace.Candidates(ctx, w.apiVersion, w.kind, w.Path())
		var missing *workspace.WithoutCRDError
		switch without := errors.As(err, &missing); {
		case err == nil:
			return crds, true
		case without && w.apiVersion == "v1" && w.kind == "List":
			o.fail(workspace.ClassUnreadable, errors.New("the field items of the List is missing or not a list"))
		case without && missing.BuiltIn:
			o.Class = workspace.ClassBuiltIn
		case without && a.registered():
			return []*workspace.CRD{nil}, true
		case without:
			o.fail(workspace.ClassWithoutCRD, err)
		default:
			o.fail(workspace.ClassObject, err)
		}
	}
	return nil, false
}

// screen sets the verdicts of writes that are allowed without a warning, if the output needs nothing else. It returns
// the other outcomes. The verdict alone takes half the time of one with the object and its changes.
func (a *admission) screen(ctx context.Context, list []asked) (others []asked, _ error) {
	c := a.command
	if !slices.Contains([]string{"text", "junit", "sarif", "github"}, c.Output) || c.Explain || c.FieldValidation == "ignore" { // pruned fields are printed
		return list, nil
	}
	options := a.options
	options.View = engine.ViewNone
	if err := a.answer(ctx, list, options); err != nil {
		return nil, err
	}
	for _, of := range list {
		plain := func(answer workspace.Answer) bool {
			return answer.Err == nil && answer.Verdict.Allowed && len(answer.Verdict.Warnings) == 0
		}
		if len(of.answers) != 1 || !plain(of.answers[0]) {
			others = append(others, of)
		}
	}
	return others, nil
}

// answerWithTraces is answer with the options of the run. In a repository, objects with placeholders get traces: they
// show whether a rule has read one.
func (a *admission) answerWithTraces(ctx context.Context, list []asked) error {
	traced := a.options
	traced.Trace = rules.TraceFailed
	var plain, placeholders []asked
	for _, of := range list {
		if a.command.Repository && of.write.HasPlaceholders() {
			placeholders = append(placeholders, of)
		} else {
			plain = append(plain, of)
		}
	}
	if err := a.answer(ctx, plain, a.options); err != nil {
		return err
	}
	return a.answer(ctx, placeholders, traced)
}

// answer asks the evaluator, and sets the answers of outcomes.
func (a *admission) answer(ctx context.Context, list []asked, o engine.AdmitOptions) error {
	questions := make([]question, 0, len(list))
	for _, of := range list {
		for _, crd := range of.crds {
			q := question{crd: crd, write: of.write.forEngine(a.command)}
			if of.write.patch == nil {
				q.of = of.write.Manifest
			}
			questions = append(questions, q)
		}
	}
	answers, err := a.admit(ctx, questions, o, a.command.ItemTimeout)
	if err != nil {
		return err
	}
	var again []asked
	for _, of := range list {
		all := make([]workspace.Answer, len(of.crds))
		for i := range of.crds {
			all[i] = workspace.Answer{CRDs: of.crds[i : i+1 : i+1], Verdict: answers[i].verdict, Err: answers[i].err}
			if v := all[i].Verdict; v != nil {
				v.Warnings = slices.Concat(of.write.Warnings, of.write.warnings, v.Warnings)
			}
		}
		answers = answers[len(of.crds):]
		if of.answers = workspace.Combine(all); a.base != nil && of.dropOld() {
			again = append(again, of)
		}
	}
	if len(again) > 0 {
		return a.answer(ctx, again, o)
	}
	return nil
}

// dropOld makes the write of an outcome a creation if an answer is an error, because the old object can be the cause: only
// a webhook can convert it, or its version is gone. An error of the new object is one of the creation, too. It reports
// whether it did.
func (o *outcome) dropOld() bool {
	if o.write.old == nil {
		return false
	}
	i := slices.IndexFunc(o.answers, func(answer workspace.Answer) bool {
		return answer.Err != nil && engine.ReasonOf(answer.Err) != engine.ReasonItemDeadline
	})
	if i >= 0 {
		o.write.create(o.write.old, o.answers[i].Err)
		o.Operation = "CREATE"
	}
	return i >= 0
}

// finish classifies an outcome whose answers are known.
func (a *admission) finish(o *outcome) {
	if len(o.answers) != 1 {
		return
	}
	w := o.write
	switch err := o.answers[0].Err; {
	case engine.ReasonOf(err) == engine.Reason(registry.CRDNotFound):
		similar, group := a.workspace.Similar(w.apiVersion, w.kind)
		o.answers = nil
		o.fail(workspace.ClassWithoutCRD, &workspace.WithoutCRDError{
			APIVersion: w.apiVersion, Kind: w.kind, Similar: similar, SimilarGroup: group})
	case engine.ReasonOf(err) == engine.ReasonVersionNotFound, engine.ReasonOf(err) == engine.ReasonVersionNotServed:
		o.answers = nil
		o.fail(workspace.ClassObject, err) // with the position of the version
	case err == nil && a.command.Repository:
		if skip := w.SkipRejected(o.answers[0].Verdict); skip.Kind != "" {
			o.answers = nil
			o.skip(skip.Kind, skip.Reason)
		}
	}
}

// skipKind is the kind of documents that --skip-kind skips, for counts.
const skipKind = "of --skip-kind"
