package closure

import (
	"github.com/google/cel-go/common/types/ref"

	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/value"
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
	Doc *value.Doc
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
	bools []bool   // accumulators
	ints  []int64  // accumulators and indexes
	lists [][]val  // accumulators of lists
	cells []val    // elements of computed lists
	ticks uint32   // iterations since the last poll of Stop

	indexed   bool           // members or positions are in use
	members   [4]memberIndex // of objects that rules access by key
	positions [4]position    // in lists that rules access by index
}

// The slots of every frame.
const (
	nodeSelf = iota
	nodeOld
	nodeFirst
)

// Bounds of what one evaluation may compute and of what a frame retains for the next one.
const (
	maxCells     = 1 << 17 // 8 MiB; the cost limit ends most evaluations before
	maxKept      = 1 << 12
	maxListsKept = 1 << 4 // each has up to maxKept elements
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
	if len(f.nodes) < p.nodes {
		f.nodes = append(f.nodes, make([]uint32, p.nodes-len(f.nodes))...)
	}
	f.nodes[nodeSelf], f.nodes[nodeOld] = f.Self, f.Old
	if f.value == nil {
		f.value = p.value
	}
	if f.indexed {
		f.dropIndexes()
	}
	if p.vals+p.bools+p.ints+p.lists == 0 {
		return
	}
	f.vals = withLen(f.vals, p.vals)
	f.bools = withLen(f.bools, p.bools)
	f.ints = withLen(f.ints, p.ints)
	f.lists = withLen(f.lists, p.lists)
}

// tidy drops computed values, which refer to the document.
func (f *Frame) tidy(p *Program) {
	if cap(f.cells) > maxKept {
		f.cells = nil
	} else if len(f.cells) > 0 {
		clear(f.cells)
		f.cells = f.cells[:0]
	}
	for i := range p.lists {
		if l := f.lists[i]; cap(l) > maxKept {
			f.lists[i] = nil
		} else if len(l) > 0 {
			clear(l)
			f.lists[i] = l[:0]
		}
	}
	for i := range p.vals {
		f.vals[i] = val{}
	}
}

// Forget drops the document and scratch space that only large evaluations need, before the Frame returns to a pool.
func (f *Frame) Forget() {
	f.Doc, f.Stop = nil, nil
	if f.indexed {
		f.dropIndexes()
	}
	if len(f.lists) > maxListsKept {
		f.lists = nil
	}
}

// dropIndexes drops what refers to the members and elements of the document.
func (f *Frame) dropIndexes() {
	f.indexed, f.members, f.positions = false, [4]memberIndex{}, [4]position{}
}

func withLen[T any](s []T, n int) []T {
	if len(s) < n {
		s = append(s, make([]T, n-len(s))...)
	}
	return s
}

// pollSoon makes the next tick poll, after work that took long.
func (f *Frame) pollSoon() { f.ticks |= ticksPerPoll - 1 }

// tick counts an iteration. It is false when the evaluation must end: the limit is exceeded, or Stop has fired.
func (f *Frame) tick() bool {
	if f.Cost > f.Limit {
		return false
	}
	f.ticks++
	return f.ticks%ticksPerPoll != 0 || !f.Stop.Stopped()
}
