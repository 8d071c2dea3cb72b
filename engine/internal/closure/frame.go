package closure

import (
	"github.com/google/cel-go/common/types/ref"

	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Outcome is the result of a closure.
type Outcome uint8

// The outcomes. True and False imply that cel-go has the same value without an error at exactly Frame.Cost. Unknown
// means that cel-go decides: there was an error, even one that cel-go absorbs, or the limit or the deadline was
// exceeded, or the data has another type than the schema.
const (
	Unknown Outcome = iota
	False
	True
)

// Frame is the memory of evaluations: their input, and scratch space that they reuse. One goroutine uses it at a time.
type Frame struct {
	Doc *tree.Doc
	// Self and Old are the nodes of self and oldSelf, 0 if absent.
	Self, Old uint32
	// Limit is the highest cost of one evaluation.
	Limit uint64
	// Cost is the cost of the last evaluation if its outcome was True or False.
	Cost uint64
	// Stop ends evaluations with Unknown, within some milliseconds.
	Stop *interrupt.Signal

	value func(data any, t *Type) ref.Val // Options.Value of the programs

	nodes []uint32 // variables that are nodes: self, oldSelf, elements of the document
	vals  []val    // other variables
	stack []val    // elements of the lists that are being made, the innermost list last
	cells []val    // elements of the lists that were made
	ticks uint32   // iterations since the last poll of Stop
}

// The slots of every frame.
const (
	nodeSelf = iota
	nodeOld
	nodeFirst
)

// Bounds of what one evaluation may compute and of what a frame retains for the next one.
const (
	maxCells     = 1 << 17 // 4 MiB; the cost limit ends most evaluations before
	maxRetained  = 1 << 12
	ticksPerPoll = 64
)

// Eval evaluates the program in the frame.
func (p *Program) Eval(f *Frame) Outcome {
	f.prepare(p)
	v, ok := p.run(f)
	f.tidy(p)
	if !ok || f.Cost > f.Limit {
		return Unknown
	}
	if v {
		return True
	}
	return False
}

// prepare makes slots for the program's variables. A rule takes a few dozen nanoseconds, so it does little.
func (f *Frame) prepare(p *Program) {
	f.Cost = 0
	if missing := int(p.nodes) - len(f.nodes); missing > 0 {
		f.nodes = append(f.nodes, make([]uint32, missing)...)
	}
	if missing := int(p.vals) - len(f.vals); missing > 0 {
		f.vals = append(f.vals, make([]val, missing)...)
	}
	f.nodes[nodeSelf], f.nodes[nodeOld] = f.Self, f.Old
	if f.value == nil {
		f.value = p.value
	}
}

// tidy drops computed values, which refer to the document.
func (f *Frame) tidy(p *Program) {
	if int(p.vals)+len(f.stack)+len(f.cells) > 0 {
		clear(f.vals[:p.vals])
		f.stack, f.cells = emptied(f.stack), emptied(f.cells)
	}
}

func emptied(list []val) []val {
	if cap(list) > maxRetained {
		return nil
	}
	clear(list)
	return list[:0]
}

// Forget drops the document before the Frame returns to a pool.
func (f *Frame) Forget() { f.Doc, f.Stop = nil, nil }

// tick counts an iteration. It is false when the evaluation must end: the limit is exceeded, or Stop has fired.
func (f *Frame) tick() bool {
	if f.Cost > f.Limit {
		return false
	}
	f.ticks++
	return f.ticks%ticksPerPoll != 0 || !f.Stop.Stopped()
}
