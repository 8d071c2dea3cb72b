package rule

import (
	"context"
	"encoding/binary"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/crdeval/crdeval/engine/internal/closure"
	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/engine/rules"
)

// Upstream's bounds at run time, in CEL cost units.
const (
	CostBudget   = celconfig.RuntimeCELCostBudget // of all rules and message expressions of one object
	PerCallLimit = celconfig.PerCallLimit         // of each
)

// Run is the evaluation of the rules of one object. Start makes it, one goroutine uses it, Close ends it.
type Run struct {
	// Doc holds the object and, for an update, the old one.
	Doc *tree.Doc
	// Context and Stop, the signal of its end, end the run early. Its violations are incomplete then. Nil never does.
	Context context.Context
	Stop    *interrupt.Signal
	// NoClosures evaluates every rule with cel-go.
	NoClosures bool
	// Limit bounds the cost of one rule or message expression. Start sets it to PerCallLimit.
	Limit uint64
	// Left is the rest of the cost budget in CEL cost units, at first CostBudget. It is negative after that budget or
	// Limit was exceeded.
	Left int64
	// Found are the violations in the order of evaluation.
	Found []violation.Violation
	// Ratcheted are violations that ratcheting turned into warnings.
	Ratcheted []violation.Violation
	// Budget bounds the number and the size of violations; nil is no bound. No rule runs after it is exhausted.
	Budget *violation.Budget
	// Trace selects the rules to trace: see Traces.
	Trace rules.TraceMode
	// Skip is why no rule is evaluated, "" if they are. It is for runs that trace all rules.
	Skip string

	frame   closure.Frame
	written int64             // bytes of the values of expressions
	known   map[string]uint64 // the cost of rules that hold, by the Set.id and the parts of self that they read
	key     []byte            // of known
	traces  traces
	current evaluation // of the current site
}

const maxKnown = 512 // of Run.known

var runs = sync.Pool{New: func() any { return &Run{known: map[string]uint64{}} }}

// Start begins a run over the document with the whole CostBudget.
func Start(d *tree.Doc) *Run {
	r := runs.Get().(*Run)
	r.Doc, r.Limit, r.Left = d, PerCallLimit, CostBudget
	return r
}

// Close returns the run's memory to a pool. Found and Ratcheted stay valid.
func (r *Run) Close() {
	r.frame.Forget()
	*r = Run{frame: r.frame, known: r.known, key: r.key}
	runs.Put(r)
}

// Site is a value that a Set is evaluated for.
type Site struct {
	// Self and Old are nodes of the run's Doc. Old is 0 without a comparable old value.
	Self, Old uint32
	Position
}

// Position describes a Site. It is used for violations only.
type Position interface {
	// Field returns the path in upstream's spelling, with a child unless below is "".
	Field(below string) string
	// Ratchet reports whether upstream ratchets violations at the site: the nearest value with an old one equals it.
	Ratchet() bool
	// Violation wraps an error about the node, which is Self or below it. Its Path leads to Self and on by below, its
	// Schema to Self, or to the rule with the index unless that is -1.
	Violation(node uint32, err *field.Error, below tree.Path, index int) violation.Violation
}

// closures returns the frame for the closures of a site.
func (r *Run) closures(self, old uint32) *closure.Frame {
	f := &r.frame
	f.Doc, f.Self, f.Old, f.Limit, f.Stop = r.Doc, self, old, r.Limit, r.Stop
	return f
}

// Holds evaluates the rules with closures only. If it returns true, all rules hold and their cost is charged to the
// run. If it returns false, the run is unchanged and Evaluate decides. self and old are nodes of the run's Doc; old is
// 0 without a comparable old value.
func (s *Set) Holds(r *Run, self, old uint32) bool {
	if r.Doc.Nodes[self].Kind == tree.Null {
		return true
	}
	if s.failure != "" || r.Left <= 0 || r.NoClosures {
		return false
	}
	old = nonNull(r.Doc, old)
	var key []byte
	if s.reads != "" && r.Limit == PerCallLimit {
		r.key = binary.LittleEndian.AppendUint32(r.key[:0], s.id)
		key = closure.AppendKey(r.key, r.Doc, self, s.reads)
		if cost, ok := r.known[string(key)]; ok && cost <= uint64(r.Left) {
			r.Left -= int64(cost)
			return true
		}
	}
	f, left := r.closures(self, old), r.Left
	for i := range s.rules {
		c := &s.rules[i]
		switch {
		case c.blank, c.skipped(old):
			continue
		case c.closure == nil, c.closure.Eval(f) != closure.True, f.Cost > uint64(left):
			return false
		}
		left -= int64(f.Cost)
	}
	if key != nil {
		if r.key = key; len(r.known) == maxKnown {
			clear(r.known)
		}
		r.known[string(key)] = uint64(r.Left - left)
	}
	r.Left = left
	return true
}

// skipped reports whether a transition rule has no old value to compare with.
func (r *rule) skipped(old uint32) bool {
	return r.usesOldSelf && old == 0 && !r.optional && r.compileError == "" &&
		quirk.On(quirk.TransitionRuleSkippedOnCreate)
}

// nonNull returns 0 for a null, which rules treat as absent.
func nonNull(d *tree.Doc, node uint32) uint32 {
	if d.Nodes[node].Kind == tree.Null {
		return 0
	}
	return node
}
