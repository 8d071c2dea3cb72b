package rule

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/internal/value"
)

// Tracing says which rules a run tells the inner life of.
type Tracing uint8

// The values of Tracing.
const (
	TraceNone   Tracing = iota
	TraceFailed         // rules that did not hold, forgiven ones among them
	TraceAll            // all, those that were skipped among them
)

// Outcome is what became of a rule at one value.
type Outcome uint8

// The outcomes of rules.
const (
	Passed   Outcome = iota + 1 // true
	Failed                      // false
	Errored                     // no answer: an error of the expression, or a cost beyond a limit
	Skipped                     // not evaluated
	Forgiven                    // false or no answer, and forgiven by ratcheting
)

// Trace is what one rule did at one value.
type Trace struct {
	// Path leads to the value that is self, and Schema is an RFC 6901 pointer to the rule in the version's schema.
	Path   value.Path
	Schema string
	Rule   *violation.RuleRef
	// Outcome is what became of it; Why is the reason, for people, if it was skipped.
	Outcome Outcome
	Why     string
	// Cost is what the rule itself was charged. It is that of the verdict: what the trace takes is charged to nobody.
	Cost int64
	// Message is that of the finding, "" for none.
	Message string
	// Steps are values of sub-expressions in the order of evaluation: the first and the last ones if they are more than MaxTraceSteps. Omitted
	// says how many others there were between. Empty for a rule that was skipped.
	Steps   []TraceStep
	Omitted int
}

// TraceStep is the value of one sub-expression at one time.
type TraceStep struct {
	// Expression is its text, macros as they were written, and Offset where it begins in the rule, in code points.
	Expression string
	Offset     int
	// Value is its value as JSON: what JSON has not, as the string that CEL makes of it. Nil with an Error, and if it is longer than MaxTraceValueBytes.
	Value []byte
	// Error is CEL's, "" for none.
	Error string
	// Decisive: it decided the value of the rule, as the operand of && that is false.
	Decisive bool
}

// Bounds of what is traced. What is beyond is counted.
const (
	MaxTraces          = 1000    // of one document
	MaxTraceSteps      = 1000    // of one rule at one value
	MaxTraceValueBytes = 1 << 10 // of one value, and of one text
	maxTraceBytes      = 4 << 20 // of one document: then traces have no steps any more
	maxTracePlaces     = 4 << 20 // bytes of the paths and pointers of one document: then there are no traces any more
)

// traces is what a run keeps about tracing.
type traces struct {
	list    []Trace
	omitted int
	bytes   int
	places  int                   // bytes of paths and pointers
	made    map[tracedKey]*traced // programs, which values of one run share
}

// full: what comes now is counted alone.
func (t *traces) full() bool { return len(t.list) >= MaxTraces || t.places > maxTracePlaces }

// Traces are those of the run, in the order of evaluation, and how many more there were than there was room for.
func (r *Run) Traces() (list []Trace, omitted int) { return r.traces.list, r.traces.omitted }

// skips tells why no rule of the set runs at the site, "" if they do.
func (e *evaluation) skips() string {
	switch {
	case e.run.Skip != "":
		return e.run.Skip
	case e.run.Doc.Nodes[e.at.Self].Kind == value.Null:
		return "the value is null: to rules it is as if it were not there"
	}
	return ""
}

// skipAll traces the rules of the set from an index on as skipped.
func (e *evaluation) skipAll(from int, why string) {
	for i := from; i < len(e.set.rules); i++ {
		e.add(&e.set.rules[i], Trace{Outcome: Skipped, Why: why})
	}
}

// traced evaluates a rule and traces it.
func (e *evaluation) traced(c *rule) (more bool) {
	found, forgiven, left := len(e.run.Found), len(e.run.Forgiven), e.run.Left
	e.last = verdict{}
	more = e.evaluated(c)
	if e.last.stopped || e.run.Stopped() {
		return more
	}
	t := Trace{Cost: int64(e.last.cost)}
	switch {
	case c.blank:
		t.Outcome, t.Why = Skipped, "the rule is empty"
	case c.compileError == "" && c.skipped(e.at.Old):
		t.Outcome, t.Why = Skipped, "the rule compares with an old value, and there is none"
	case len(e.run.Forgiven) > forgiven:
		t.Outcome, t.Message = Forgiven, e.run.Forgiven[len(e.run.Forgiven)-1].Detail
	case len(e.run.Found) > found && e.last.err == nil && e.last.value != nil && int64(e.last.cost) <= left:
		t.Outcome, t.Message = Failed, e.run.Found[len(e.run.Found)-1].Detail
	case len(e.run.Found) > found:
		t.Outcome, t.Message = Errored, e.run.Found[len(e.run.Found)-1].Detail
	default:
		t.Outcome = Passed
	}
	if e.run.Trace == TraceFailed && (t.Outcome == Passed || t.Outcome == Skipped) {
		return more
	}
	if t.Outcome != Skipped && c.compileError == "" && !e.run.traces.full() {
		e.steps(c, &t)
	}
	e.add(c, t)
	return more
}

// goesOn says what becomes of the rules behind one that ended the evaluation: where all are traced the walk goes on, and they are skipped.
func (e *evaluation) goesOn(from int) (more bool) {
	if e.run.Trace != TraceAll || e.run.Stopped() || e.run.Room.Err() != nil {
		return false
	}
	e.run.Skip = e.ended()
	e.skipAll(from, e.run.Skip)
	return true
}

// ended tells why nothing further runs, for the traces of what does not.
func (e *evaluation) ended() string {
	if e.last.err != nil && limitCrossed(e.last.err.Error()) {
		return fmt.Sprintf("a rule before it cost more than %d, which ends the evaluation of rules", e.run.Limit)
	}
	return fmt.Sprintf("the rules before it used up the %d that all rules of an object may cost", Budget)
}

// add says of a trace where it is, and keeps it if there is room.
func (e *evaluation) add(c *rule, t Trace) {
	all := &e.run.traces
	if all.full() {
		all.omitted++
		return
	}
	v := e.at.Violation(e.at.Self, &field.Error{}, nil, c.keyword())
	t.Path, t.Schema, t.Rule = v.Path, v.Schema, &violation.RuleRef{Index: c.index, Text: c.text, Reason: string(c.reason)}
	all.places += len(t.Schema)
	for i := range t.Path {
		all.places += len(t.Path[i].Key())
	}
	for i := range t.Steps {
		all.bytes += len(t.Steps[i].Expression) + len(t.Steps[i].Value) + len(t.Steps[i].Error)
	}
	all.list = append(all.list, t)
}
