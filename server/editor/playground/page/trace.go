package page

import (
	"unicode/utf8"

	"github.com/crdeval/crdeval/engine/rules"
	"github.com/crdeval/crdeval/server/editor/diagnosis"
)

var outcomes = map[rules.Outcome]string{
	rules.Passed: "passed", rules.Failed: "failed", rules.Errored: "error", rules.Skipped: "skipped",
	rules.Ratcheted: "ratcheted",
}

// trace returns the trace of a rule. version is the index of the version in the CRD, or -1.
func (c *compiled) trace(version int, t *rules.Trace) Trace {
	out := Trace{
		Path: diagnosis.Dotted(t.Pointer), Pointer: t.Pointer, Outcome: outcomes[t.Outcome],
		Skipped: t.Skipped, Message: t.Message, Cost: t.Cost,
		Tree: stepTree(t.Steps), OmittedSteps: t.OmittedSteps,
	}
	if t.Rule != nil {
		out.Rule = t.Rule.Text
	}
	out.Range = c.ruleRange(version, t.SchemaPointer)
	return out
}

// stepTree makes a tree of steps, which are in the order of evaluation: operands before the expression that has them.
// It returns the last step. Steps without a place in the rule, and those before steps that are left out, are its
// children.
func stepTree(steps []rules.Step) *Step {
	type open struct {
		step     Step
		from, to int
	}
	var stack []open
	for i := range steps {
		s := &steps[i]
		next := open{from: s.Offset, to: s.Offset + utf8.RuneCountInString(s.Expression)}
		next.step = Step{Expression: s.Expression, Value: validJSON(s.Value), Error: s.Error, Decisive: s.Decisive,
			Children: []Step{}}
		first := len(stack)
		for first > 0 && (i == len(steps)-1 || contains(next.from, next.to, stack[first-1].from, stack[first-1].to)) {
			first--
		}
		for _, child := range stack[first:] {
			next.step.Children = append(next.step.Children, child.step)
		}
		stack = append(stack[:first], next)
	}
	if len(stack) == 0 {
		return nil
	}
	return &stack[0].step
}

// contains reports whether a part of a rule contains another, smaller one.
func contains(from, to, innerFrom, innerTo int) bool {
	return from >= 0 && innerFrom >= from && innerTo <= to && innerTo-innerFrom < to-from
}
