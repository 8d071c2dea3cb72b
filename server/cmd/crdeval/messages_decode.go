package main

import (
	"strings"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/rules"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// validateOptionsMessage returns the message of the options of Validate.
func validateOptionsMessage(o engine.ValidateOptions) *crdevalv1.EvaluationOptions {
	view := engine.ViewFull
	if o.Brief {
		view = engine.ViewNone
	}
	return optionsMessage(engine.AdmitOptions{
		FieldValidation: o.FieldValidation, CompleteMetadata: o.CompleteMetadata, View: view, Trace: o.Trace,
	})
}

// optionsMessage returns the message of the options of Admit.
func optionsMessage(o engine.AdmitOptions) *crdevalv1.EvaluationOptions {
	return &crdevalv1.EvaluationOptions{
		FieldValidation: fieldValidationMessages[o.FieldValidation], CompleteMetadata: o.CompleteMetadata,
		View: views[o.View], Trace: traceModes[o.Trace],
	}
}

// fieldValidations are the values of --field-validation.
var fieldValidations = map[string]engine.FieldValidation{
	"strict": engine.FieldValidationStrict, "warn": engine.FieldValidationWarn, "ignore": engine.FieldValidationIgnore,
}

var fieldValidationMessages = map[engine.FieldValidation]crdevalv1.FieldValidation{
	engine.FieldValidationStrict: crdevalv1.FieldValidation_FIELD_VALIDATION_STRICT,
	engine.FieldValidationWarn:   crdevalv1.FieldValidation_FIELD_VALIDATION_WARN,
	engine.FieldValidationIgnore: crdevalv1.FieldValidation_FIELD_VALIDATION_IGNORE,
}

var views = map[engine.View]crdevalv1.ObjectView{
	engine.ViewFull: crdevalv1.ObjectView_OBJECT_VIEW_FULL, engine.ViewChanged: crdevalv1.ObjectView_OBJECT_VIEW_CHANGED,
	engine.ViewNone: crdevalv1.ObjectView_OBJECT_VIEW_NONE,
}

var traceModes = map[rules.TraceMode]crdevalv1.TraceMode{
	rules.TraceNone: crdevalv1.TraceMode_TRACE_MODE_NONE, rules.TraceFailed: crdevalv1.TraceMode_TRACE_MODE_FAILED,
	rules.TraceAll: crdevalv1.TraceMode_TRACE_MODE_ALL,
}

// verdictOf returns the verdict of a message.
func verdictOf(m *crdevalv1.Verdict) *engine.Verdict {
	v := &engine.Verdict{
		Allowed: m.GetAllowed(), Violations: decodeAll(m.GetViolations(), violationOf), Next: decodeAll(m.GetNext(), violationOf),
		Ratcheted: decodeAll(m.GetRatcheted(), violationOf), Warnings: decodeAll(m.GetWarnings(), warningOf),
		Pruned: decodeAll(m.GetChanges().GetPruned(), changeOf), Defaulted: decodeAll(m.GetChanges().GetDefaulted(), changeOf),
		OmittedChanges: int(m.GetChanges().GetOmitted()), Object: m.GetObject().GetJson(), StoredObject: m.GetStoredObject().GetJson(),
		Deletes: m.GetDeletes(), Unchanged: m.GetUnchanged(), Revision: m.GetRevision(),
		Traces: decodeAll(m.GetRuleTraces().GetTraces(), traceOf), OmittedTraces: int(m.GetRuleTraces().GetOmitted()),
	}
	if r := m.GetRejection(); r != nil {
		v.Rejection = &engine.Rejection{Code: r.GetCode(), Reason: r.GetReason(), Message: r.GetMessage(), Cause: r.GetCause()}
	}
	return v
}

func decodeAll[M, T any](list []M, decode func(M) T) []T {
	if len(list) == 0 {
		return nil
	}
	all := make([]T, len(list))
	for i, m := range list {
		all[i] = decode(m)
	}
	return all
}

func violationOf(m *crdevalv1.Violation) engine.Violation {
	return engine.Violation{
		Type: m.GetType(), Field: m.GetField(), Message: m.GetMessage(), Detail: m.GetDetail(), BadValue: m.GetBadValue().GetJson(),
		Pointer: m.GetPointer(), SchemaPointer: m.GetSchemaPointer(), Position: positionOf(m.GetPosition()), Rule: ruleOf(m.GetRule()),
		Step: stepOf(m.GetStep()), Hint: hintOf(m.GetHint()),
	}
}

// stepOf returns the step of a message. The names of both are the same.
func stepOf(s crdevalv1.PipelineStep) engine.Step {
	if s == crdevalv1.PipelineStep_PIPELINE_STEP_UNSPECIFIED {
		return ""
	}
	return engine.Step(strings.TrimPrefix(s.String(), "PIPELINE_STEP_"))
}

func warningOf(m *crdevalv1.Warning) engine.Warning {
	return engine.Warning{
		Type: m.GetType(), Text: m.GetText(), Field: m.GetField(), Pointer: m.GetPointer(), Position: positionOf(m.GetPosition()),
		Hint: hintOf(m.GetHint()),
	}
}

func changeOf(m *crdevalv1.FieldChange) engine.FieldChange {
	return engine.FieldChange{
		Path: m.GetPath(), Pointer: m.GetPointer(), Value: m.GetValue().GetJson(), Position: positionOf(m.GetPosition()),
		Hint: hintOf(m.GetHint()),
	}
}

func positionOf(m *crdevalv1.Position) *engine.Position {
	if m == nil {
		return nil
	}
	return &engine.Position{Line: int(m.GetLine()), Column: int(m.GetColumn()), Offset: int(m.GetOffset())}
}

func hintOf(m *crdevalv1.Hint) *engine.Hint {
	if m == nil {
		return nil
	}
	return &engine.Hint{Text: m.GetText(), Pointer: m.GetPointer(), Replacement: m.GetReplacement().GetJson()}
}

func ruleOf(m *crdevalv1.RuleRef) *rules.Ref {
	if m == nil {
		return nil
	}
	return &rules.Ref{Index: int(m.GetIndex()), Text: m.GetRule(), Reason: m.GetReason()}
}

func traceOf(m *crdevalv1.RuleTrace) rules.Trace {
	t := rules.Trace{
		Pointer: m.GetPointer(), SchemaPointer: m.GetSchemaPointer(), Rule: ruleOf(m.GetRule()), Skipped: m.GetSkipped(),
		Cost: m.GetCost(), Message: m.GetMessage(), OmittedSteps: int(m.GetOmittedSteps()),
		Outcome: rules.Outcome(m.GetOutcome()),
	}
	for _, s := range m.GetSteps() {
		t.Steps = append(t.Steps, rules.Step{
			Expression: s.GetExpression(), Offset: int(s.GetOffset()), Value: s.GetValue().GetJson(), Error: s.GetError(),
			Decisive: s.GetDecisive(),
		})
	}
	return t
}
