package engine

import (
	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/rule"
	"github.com/crdeval/crdeval/engine/internal/rule/trace"
)

// TraceMode selects the rules that a Verdict traces.
type TraceMode uint8

// The values of TraceMode.
const (
	TraceNone   = TraceMode(rule.TraceNone)
	TraceFailed = TraceMode(rule.TraceFailed) // rules with the outcome Failed, Error or Ratcheted
	TraceAll    = TraceMode(rule.TraceAll)    // all rules; such an evaluation always takes the slower exact path
)

// RuleOutcome is the outcome of a rule at one value.
type RuleOutcome uint8

// The outcomes of rules.
const (
	RulePassed    = RuleOutcome(rule.Passed)    // true
	RuleFailed    = RuleOutcome(rule.Failed)    // false: a violation
	RuleError     = RuleOutcome(rule.Errored)   // an error or a cost above a limit: a violation
	RuleSkipped   = RuleOutcome(rule.Skipped)   // not evaluated
	RuleRatcheted = RuleOutcome(rule.Ratcheted) // failed, but the update did not change the value
)

// Bounds of traces. What exceeds them is counted.
const (
	MaxTraces          = rule.MaxTraces      // traces of one object
	MaxTraceSteps      = trace.MaxSteps      // steps of one rule at one value
	MaxTraceValueBytes = trace.MaxValueBytes // bytes of the JSON of one value, and of one text
)

// RuleTrace describes the evaluation of a rule at one value. For a trace the rule is evaluated once more, which changes
// neither the verdict nor the cost.
type RuleTrace struct {
	// Pointer is the JSON pointer of self in the object, SchemaPointer that of the rule in the version's schema.
	Pointer, SchemaPointer string
	Rule                   *RuleRef
	Outcome                RuleOutcome
	// Skipped says why the rule was skipped.
	Skipped string
	// Cost is the cost of the rule in CEL cost units, without its messageExpression.
	Cost int64
	// Message is the message of the violation, if any.
	Message string
	// Steps are the values of the sub-expressions in the order of evaluation; in a macro, one for each iteration. If
	// there are more than MaxTraceSteps, only the first and the last ones are listed. There are none for rules that
	// were skipped or do not compile, and if the object's traces became very large.
	Steps []TraceStep
	// OmittedSteps is the number of steps that are not listed.
	OmittedSteps int
}

// TraceStep is the value of a sub-expression.
type TraceStep = trace.Step

func tracesOf(out *admission.Outcome) []RuleTrace {
	if len(out.Traces) == 0 {
		return nil
	}
	list := make([]RuleTrace, len(out.Traces))
	for i := range out.Traces {
		t := &out.Traces[i]
		list[i] = RuleTrace{
			Pointer: t.Path.Pointer(), SchemaPointer: t.Schema, Rule: t.Rule, Outcome: RuleOutcome(t.Outcome),
			Skipped: t.Why, Cost: t.Cost, Message: t.Message, Steps: t.Steps, OmittedSteps: t.Omitted,
		}
	}
	return list
}
