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
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/engine/value"
)

// Tracing selects the rules that a run traces.
type Tracing uint8

// The values of Tracing.
const (
	TraceNone   Tracing = iota
	TraceFailed         // rules that did not hold, ratcheted ones included
	TraceAll            // all rules, skipped ones included
)

// Outcome is the outcome of a rule for one value.
type Outcome uint8

// The outcomes of rules.
const (
	Passed    Outcome = iota + 1 // true
	Failed                       // false
	Errored                      // an error of the expression, or a cost beyond a limit
	Skipped                      // not evaluated
	Ratcheted                    // false or an error, and ratcheted
)

// Trace describes the evaluation of a rule at one value. For a trace the rule is evaluated once more, which changes
// neither the verdict nor the cost.
type Trace struct {
	// Pointer is the JSON pointer of self in the object, SchemaPointer that of the rule in the version's schema.
	Pointer, SchemaPointer string
	Rule                   *violation.RuleRef
	Outcome                Outcome
	// Skipped says why the rule was skipped.
	Skipped string
	// Cost is the cost of the rule in CEL cost units, without its messageExpression.
	Cost int64
	// Message is the message of the violation, if any.
	Message string
	// Steps are the values of the sub-expressions in the order of evaluation; in a macro, one for each iteration. If
	// there are more than MaxTraceSteps, only the first and the last ones are listed. They are empty for rules that
	// were skipped or do not compile, and if the object's traces became very large.
	Steps []trace.Step
	// OmittedSteps is the number of steps that are not listed.
	OmittedSteps int
}

// Bounds of the traces of one document.
const (
	MaxTraces     = 1000    // traces beyond are counted
	maxStepBytes  = 4 << 20 // traces beyond have no steps
	maxPointBytes = 4 << 20 // of paths and pointers: traces beyond are counted
)

// traces is the state of tracing in a run.
type traces struct {
	list       []Trace
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

func (t *traces) full() bool { return len(t.list) >= MaxTraces || t.pointBytes > maxPointBytes }

// Traces returns the traces of the run in the order of evaluation, and how many were omitted.
func (r *Run) Traces() (list []Trace, omitted int) { return r.traces.list, r.traces.omitted }

// skipReason returns why no rule of the set runs at the site, "" if they do.
func (e *evaluation) skipReason() string {
	switch {
	case e.run.Skip != "":
		return e.run.Skip
	case e.run.Doc.Nodes[e.at.Self].Kind == value.Null:
		return "the value is null, which rules treat as absent"
	}
	return ""
}

// traceSkipped traces the rules of the set from an index on as skipped.
func (e *evaluation) traceSkipped(from int, why string) {
	for i := from; i < len(e.set.rules); i++ {
		e.addTrace(&e.set.rules[i], Trace{Outcome: Skipped, Skipped: why})
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
	t := Trace{Cost: int64(e.last.Cost), Outcome: Passed}
	switch {
	case c.blank:
		t.Outcome, t.Skipped = Skipped, "the rule is empty"
	case c.compileError == "" && c.skipped(e.at.Old):
		t.Outcome, t.Skipped = Skipped, "the rule compares with an old value, which is missing"
	case len(e.run.Ratcheted) > ratcheted:
		t.Outcome, t.Message = Ratcheted, e.run.Ratcheted[ratcheted].Detail
	case len(e.run.Found) > found:
		t.Outcome, t.Message = Errored, e.run.Found[len(e.run.Found)-1].Detail
		if e.last.Err == nil && e.last.Value != nil && int64(e.last.Cost) <= left {
			t.Outcome = Failed
		}
	}
	if e.run.Trace == TraceFailed && (t.Outcome == Passed || t.Outcome == Skipped) {
		return more
	}
	if t.Outcome != Skipped && c.compileError == "" && !e.run.traces.full() {
		e.addSteps(c, &t)
	}
	e.addTrace(c, t)
	return more
}

// continueTracing is called when a rule ended the evaluation. If all rules are traced, the walk continues, and the
// remaining rules are skipped.
func (e *evaluation) continueTracing(from int) (more bool) {
	if e.run.Trace != TraceAll || e.run.Stop.Stopped() || e.run.Budget.Err() != nil {
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
func (e *evaluation) addTrace(c *rule, t Trace) {
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
func (e *evaluation) addSteps(c *rule, t *Trace) {
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
