package rule

import (
	"fmt"

	"github.com/google/cel-go/common"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/closure"
	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
	"github.com/crdeval/crdeval/engine/internal/rule/celenv"
	"github.com/crdeval/crdeval/engine/internal/rule/interpret"
	"github.com/crdeval/crdeval/engine/internal/rule/trace"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/rules"
)

// Bounds of the traces of one document.
const (
	maxStepBytes  = 4 << 20 // traces beyond have no steps
	maxPointBytes = 4 << 20 // of paths and pointers: traces beyond are counted
)

// traces is the state of tracing in a run.
type traces struct {
	list       []rules.Trace
	omitted    int
	stepBytes  int
	pointBytes int
	programs   map[programKey]*trace.Program // shared by the values of the run
}

type programKey struct {
	declared *closure.Type
	text     string
	optional bool
}

func (t *traces) full() bool { return len(t.list) >= rules.MaxTraces || t.pointBytes > maxPointBytes }

// Traces returns the traces of the run in the order of evaluation, and how many were omitted.
func (r *Run) Traces() (list []rules.Trace, omitted int) { return r.traces.list, r.traces.omitted }

// skipReason returns why no rule of the set runs at the site, "" if they do.
func (e *evaluation) skipReason() string {
	switch {
	case e.run.Skip != "":
		return e.run.Skip
	case e.run.Doc.Nodes[e.at.Self].Kind == tree.Null:
		return "the value is null, which rules treat as absent"
	}
	return ""
}

// traceSkipped traces the rules of the set from an index on as skipped.
func (e *evaluation) traceSkipped(from int, why string) {
	for i := from; i < len(e.set.rules); i++ {
		e.addTrace(&e.set.rules[i], rules.Trace{Outcome: rules.Skipped, Skipped: why})
	}
}

// evaluateTraced evaluates a rule and traces it.
func (e *evaluation) evaluateTraced(c *rule) (more bool) {
	found, ratcheted, left := len(e.run.Found), len(e.run.Ratcheted), e.run.Left
	e.last = interpret.Result{}
	more = e.evaluate(c)
	if e.last.Interrupted || e.run.Stop.Stopped() {
		return more
	}
	t := rules.Trace{Cost: int64(e.last.Cost), Outcome: rules.Passed}
	switch {
	case c.blank:
		t.Outcome, t.Skipped = rules.Skipped, "the rule is empty"
	case c.compileError == "" && c.skipped(e.at.Old):
		t.Outcome, t.Skipped = rules.Skipped, "the rule compares with an old value, which is missing"
	case len(e.run.Ratcheted) > ratcheted:
		t.Outcome, t.Message = rules.Ratcheted, e.run.Ratcheted[ratcheted].Detail
	case len(e.run.Found) > found:
		t.Outcome, t.Message = rules.Errored, e.run.Found[len(e.run.Found)-1].Detail
		if e.last.Err == nil && e.last.Value != nil && int64(e.last.Cost) <= left {
			t.Outcome = rules.Failed
		}
	}
	if e.run.Trace == rules.TraceFailed && (t.Outcome == rules.Passed || t.Outcome == rules.Skipped) {
		return more
	}
	if t.Outcome != rules.Skipped && c.compileError == "" && !e.run.traces.full() {
		e.addSteps(c, &t)
	}
	e.addTrace(c, t)
	return more
}

// continueTracing is called when a rule ended the evaluation. If all rules are traced, the walk continues, and the
// remaining rules are skipped.
func (e *evaluation) continueTracing(from int) (more bool) {
	if e.run.Trace != rules.TraceAll || e.run.Stop.Stopped() || e.run.Budget.Err() != nil {
		return false
	}
	e.run.Skip = fmt.Sprintf("the rules before it used up the %d that all rules of an object may cost", CostBudget)
	if e.last.Err != nil && isLimitError(e.last.Err.Error()) {
		e.run.Skip = fmt.Sprintf("a rule before it cost more than %d, which ends the evaluation of rules", e.run.Limit)
	}
	e.traceSkipped(from, e.run.Skip)
	return true
}

// addTrace sets the position of a trace and keeps it within the bounds.
func (e *evaluation) addTrace(c *rule, t rules.Trace) {
	all := &e.run.traces
	if all.full() {
		all.omitted++
		return
	}
	v := e.at.Violation(e.at.Self, &field.Error{}, nil, int(c.index))
	t.Pointer, t.SchemaPointer, t.Rule = v.Path.Pointer(), v.Schema, c.ref()
	all.pointBytes += len(t.Pointer) + len(t.SchemaPointer)
	for i := range t.Steps {
		all.stepBytes += len(t.Steps[i].Expression) + len(t.Steps[i].Value) + len(t.Steps[i].Error)
	}
	all.list = append(all.list, t)
}

// addSteps evaluates the rule again with an observer.
func (e *evaluation) addSteps(c *rule, t *rules.Trace) {
	if e.run.traces.stepBytes > maxStepBytes || !e.prepare() {
		return
	}
	program := e.traceProgram(programKey{e.set.declared, c.text, c.optional})
	if program == nil {
		return
	}
	e.interpreter.Interruptible(func() {
		steps, omitted := program.Run(e.interpreter.Context, e.interpreter.Activation(c.optional))
		if !e.run.Stop.Stopped() {
			t.Steps, t.OmittedSteps = steps, omitted
		}
	})
}

// traceProgram returns the program of a rule, nil if it cannot be planned or the run is stopped first.
func (e *evaluation) traceProgram(key programKey) *trace.Program {
	all := &e.run.traces
	if p, ok := all.programs[key]; ok {
		return p
	}
	p, ok := planTrace(key, e.run.Stop)
	if ok {
		if all.programs == nil {
			all.programs = map[programKey]*trace.Program{}
		}
		all.programs[key] = p
	}
	return p
}

// planTrace plans an expression that compiled before. ok is false if the signal fires first.
func planTrace(key programKey, stop *interrupt.Signal) (p *trace.Program, ok bool) {
	var slots interrupt.Slots
	if celcheck.IsLong(key.text) {
		slots = celcheck.CompileSlots
	}
	return interrupt.Run(stop, slots, func() *trace.Program {
		env, parsed := celenv.Stored(), trace.Parse(key.text)
		if parsed == nil {
			return nil
		}
		celcheck.ScopeOf(key.declared).CheckParsed(env, parsed, common.NewTextSource(key.text), key.optional)
		if !parsed.IsChecked() {
			return nil
		}
		return trace.New(parsed.NativeRep(), key.text, interpret.OrderRanges, interpret.PlannerOptions(env)...)
	})
}
