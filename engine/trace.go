package engine

import (
	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/rule"
	"github.com/crdeval/crdeval/engine/internal/rule/trace"
)

// Trace says which rules a Verdict traces.
type TraceMode uint8

// The values of Trace.
const (
	TraceNone   = TraceMode(rule.TraceNone)
	TraceFailed = TraceMode(rule.TraceFailed) // those that did not hold: outcomes Failed, Error and Forgiven
	TraceAll    = TraceMode(rule.TraceAll)    // all, those that passed and those that were skipped among them; it takes the slow way
)

// RuleOutcome is what became of a rule at one value.
type RuleOutcome uint8

// The outcomes of rules.
const (
	RulePassed    = RuleOutcome(rule.Passed)    // true
	RuleFailed    = RuleOutcome(rule.Failed)    // false: a violation
	RuleError     = RuleOutcome(rule.Errored)   // no answer, an error of the expression or a cost beyond a limit: a violation
	RuleSkipped   = RuleOutcome(rule.Skipped)   // not evaluated
	RuleRatcheted = RuleOutcome(rule.Ratcheted) // false or without an answer, and forgiven since the update did not touch the value
)

// Bounds of traces: what is beyond is counted.
const (
	MaxTraces          = rule.MaxTraces      // of one object
	MaxTraceSteps      = trace.MaxSteps      // of one rule at one value
	MaxTraceValueBytes = trace.MaxValueBytes // of the JSON of one value, and of one text
)

// RuleTrace is what one rule did at one value of the object. Tracing evaluates a rule once more, beside the verdict: it changes neither that nor what
// the rule is charged.
type RuleTrace struct {
	// Pointer leads to the value that is self, SchemaPointer to the rule in the version's schema: RFC 6901 both.
	Pointer, SchemaPointer string
	Rule                   *RuleRef
	Outcome                RuleOutcome
	// Skipped says why the rule was skipped, for people; empty for other outcomes.
	Skipped string
	// Cost is what the rule was charged, in CEL cost units; what its messageExpression cost is not in it.
	Cost int64
	// Message is the message of the finding, empty for none.
	Message string
	// Steps are the values of its sub-expressions in the order of evaluation, within a macro once a round: the first and the last ones if they
	// are more than MaxTraceSteps. Empty for rules that were skipped or do not compile, and when the object's traces became very large.
	Steps []TraceStep
	// OmittedSteps is how many steps between them were left out.
	OmittedSteps int
}

// TraceStep is the value of one sub-expression at one time: Expression, Offset (where it begins in the rule, in code points), Value (as JSON; nil
// with an error and if it is too long), Error (CEL's words) and Decisive (it decided the value of the rule).
type TraceStep = trace.Step

func tracesOf(out *admission.Outcome) []RuleTrace {
	if len(out.Traces) == 0 {
		return nil
	}
	list := make([]RuleTrace, len(out.Traces))
	for i := range out.Traces {
		t := &out.Traces[i]
		list[i] = RuleTrace{
			Pointer: t.Path.Pointer(), SchemaPointer: t.Schema, Rule: t.Rule, Outcome: RuleOutcome(t.Outcome), Skipped: t.Why, Cost: t.Cost,
			Message: t.Message, Steps: t.Steps, OmittedSteps: t.Omitted,
		}
	}
	return list
}
