package api

import (
	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// traces spell what rules did; nil for none.
func traces(list []engine.RuleTrace, omitted int) *crdevalv1.RuleTraces {
	if len(list) == 0 {
		return nil
	}
	all := make([]*crdevalv1.RuleTrace, len(list))
	for i := range list {
		t := &list[i]
		all[i] = &crdevalv1.RuleTrace{
			Pointer: valid(t.Pointer), SchemaPointer: valid(t.SchemaPointer), Rule: ruleRef(t.Rule), Outcome: outcomes[t.Outcome],
			Skipped: valid(t.Skipped), Cost: t.Cost, Message: valid(t.Message), Steps: traceSteps(t.Steps), OmittedSteps: int32(t.OmittedSteps),
		}
	}
	return &crdevalv1.RuleTraces{Traces: all, Omitted: int32(omitted)}
}

func traceSteps(list []engine.TraceStep) []*crdevalv1.TraceStep {
	all := make([]*crdevalv1.TraceStep, len(list))
	for i := range list {
		s := &list[i]
		all[i] = &crdevalv1.TraceStep{Expression: valid(s.Expression), Offset: int32(s.Offset), Decisive: s.Decisive}
		switch {
		case s.Error != "":
			all[i].Result = &crdevalv1.TraceStep_Error{Error: valid(s.Error)}
		case s.Value != nil:
			all[i].Result = &crdevalv1.TraceStep_Value{Value: json(s.Value)}
		}
	}
	return all
}

var outcomes = map[engine.RuleOutcome]crdevalv1.RuleOutcome{
	engine.RulePassed:    crdevalv1.RuleOutcome_RULE_OUTCOME_PASSED,
	engine.RuleFailed:    crdevalv1.RuleOutcome_RULE_OUTCOME_FAILED,
	engine.RuleError:     crdevalv1.RuleOutcome_RULE_OUTCOME_ERROR,
	engine.RuleSkipped:   crdevalv1.RuleOutcome_RULE_OUTCOME_SKIPPED,
	engine.RuleRatcheted: crdevalv1.RuleOutcome_RULE_OUTCOME_RATCHETED,
}
