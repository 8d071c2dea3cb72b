package engine

import (
	"github.com/crdeval/crdeval/engine/internal/rule"
	"github.com/crdeval/crdeval/engine/internal/rule/trace"
)

// TraceMode selects the rules that a Verdict traces.
type TraceMode = rule.Tracing

// The values of TraceMode.
const (
	TraceNone   = rule.TraceNone
	TraceFailed = rule.TraceFailed // rules with the outcome Failed, Error or Ratcheted
	TraceAll    = rule.TraceAll    // all rules; such an evaluation always takes the slower exact path
)

// RuleOutcome is the outcome of a rule at one value.
type RuleOutcome = rule.Outcome

// The outcomes of rules.
const (
	RulePassed    = rule.Passed    // true
	RuleFailed    = rule.Failed    // false: a violation
	RuleError     = rule.Errored   // an error or a cost above a limit: a violation
	RuleSkipped   = rule.Skipped   // not evaluated
	RuleRatcheted = rule.Ratcheted // failed, but the update did not change the value
)

// Bounds of traces. What exceeds them is counted.
const (
	MaxTraces          = rule.MaxTraces      // traces of one object
	MaxTraceSteps      = trace.MaxSteps      // steps of one rule at one value
	MaxTraceValueBytes = trace.MaxValueBytes // bytes of the JSON of one value, and of one text
)

// RuleTrace describes the evaluation of a rule at one value.
type RuleTrace = rule.Trace

// TraceStep is the value of a sub-expression.
type TraceStep = trace.Step
