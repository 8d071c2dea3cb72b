package rule

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/crdeval/crdeval/engine/internal/closure"
	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/internal/value"
)

// Upstream's bounds at run time, in CEL cost units.
const (
	Budget       = celconfig.RuntimeCELCostBudget // all rules and message expressions of one object
	PerCallLimit = celconfig.PerCallLimit         // each
)

// Run is the evaluation of the rules of one object. It is made by Start, used by one goroutine, and given back by Close.
type Run struct {
	// Doc holds the object and, on update, the old one.
	Doc *value.Doc
	// Context and Stop end the run early; what was found is incomplete then. Nil never stops.
	Context context.Context
	Stop    *interrupt.Signal
	// NoClosures replays every rule.
	NoClosures bool
	// Limit is what one rule or message expression may cost; Start sets it to PerCallLimit. Tests choose others.
	Limit uint64
	// Left is what remains of the Budget; below 0 after it was exceeded, or after a call crossed its limit.
	Left int64
	// Found are the findings, in the order of evaluation.
	Found []violation.Violation
	// Forgiven are findings that ratcheting turned into warnings, whose texts are their Error().
	Forgiven []violation.Violation
	// Room bounds what may be found; nil for any amount. Nothing further runs when it is full.
	Room *violation.Room
	// Trace says which rules are traced: see Traces.
	Trace Tracing
	// Skip is why no rule is evaluated, "" if they are. It is for runs that trace all rules.
	Skip string

	frame   closure.Frame
	traces  traces
	current evaluation // of the site that is being judged
}

var runs = sync.Pool{New: func() any { return new(Run) }}

// Start begins a run over the document with the whole Budget.
func Start(d *value.Doc) *Run {
	r := runs.Get().(*Run)
	r.Doc, r.Limit, r.Left = d, PerCallLimit, Budget
	return r
}

// Close gives the run's memory back. Found and Forgiven stay valid.
func (r *Run) Close() {
	r.frame.Forget()
	*r = Run{frame: r.frame}
	runs.Put(r)
}

// Site is a value that a Set judges.
type Site struct {
	// Self and Old are nodes of the run's Doc; Old is 0 where there is no comparable old value.
	Self, Old uint32
	Place
}

// Place tells where a Site stands. It is asked only when something is found.
type Place interface {
	// Field is the place in upstream's spelling, or a Child of it unless below is "".
	Field(below string) string
	// Ratchet reports whether upstream forgives what is found here: the nearest value that has an old one is equal to it.
	Ratchet() bool
	// Violation wraps an error about the node, which is Self or below it. Its Path leads to Self and on by below, its Schema to Self and on by
	// keyword unless that is "".
	Violation(node uint32, err *field.Error, below value.Path, keyword string) violation.Violation
}

// Stopped reports whether the run was ended early.
func (r *Run) Stopped() bool {
	return r.Stop.Stopped() || r.Context != nil && r.Context.Err() != nil
}

// closure evaluates a rule's closure.
func (r *Run) closure(p *closure.Program, self, old uint32) closure.Outcome {
	f := &r.frame
	f.Doc, f.Self, f.Old, f.Limit, f.Stop = r.Doc, self, old, r.Limit, r.Stop
	return p.Eval(f)
}
