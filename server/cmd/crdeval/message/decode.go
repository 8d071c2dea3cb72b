package message

import (
	"strings"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/rules"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// Verdict returns the verdict of a message.
func Verdict(m *crdevalv1.Verdict) *engine.Verdict {
	v := &engine.Verdict{
		Allowed: m.GetAllowed(), Violations: Violations(m.GetViolations()), Next: Violations(m.GetNext()),
		Ratcheted: Violations(m.GetRatcheted()), Warnings: decodeAll(m.GetWarnings(), warningOf),
		Pruned: Changes(m.GetChanges().GetPruned()), Defaulted: Changes(m.GetChanges().GetDefaulted()),
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

// Violations returns the violations of messages.
func Violations(list []*crdevalv1.Violation) []engine.Violation { return decodeAll(list, violationOf) }

// Changes returns the changes of messages.
func Changes(list []*crdevalv1.FieldChange) []engine.FieldChange { return decodeAll(list, changeOf) }

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
