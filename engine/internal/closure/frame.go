package closure

import (
	"github.com/google/cel-go/common/types/ref"

	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/internal/value"
)

// Outcome is what a closure answers.
type Outcome uint8

// The outcomes. True and False imply that cel-go gives the same value without an error, at exactly Frame.Cost. Unknown means that replay decides: an
// error was met, even one that cel-go absorbs, or the limit, or the deadline, or data of another kind than the schema's.
const (
	Unknown Outcome = iota
	False
	True
)

// Frame is the memory of evaluations: what is evaluated, and scratch that is kept from one to the next. One goroutine uses it at a time.
type Frame struct {
	Doc *value.Doc
	// Self and Old are the nodes of self and oldSelf; 0: none.
	Self, Old uint32
	// Limit is the highest cost of one evaluation.
	Limit uint64
	// Cost is the cost of the last evaluation, exact when its outcome was True or False.
	Cost uint64
	// Stop ends evaluations, with Unknown, within some milliseconds.
	Stop *interrupt.Signal

	value func(data any, t *Type) ref.Val // of the programs, see Options

	nodes []uint32 // variables that stand for nodes: self, oldSelf, what folds iterate
	vals  []val    // other variables
	bools []bool   // accumulators
	ints  []int64  // accumulators and indexes
	lists [][]val  // accumulators of lists and maps
	cells []val    // elements of lists and maps that were computed
	ticks uint32   // counts iterations, to look at Stop now and then

	looked  bool           // members or places have something
	members [4]memberIndex // of the objects that rules look into by key
	places  [4]place       // in the lists that rules go through by number
}

// Slots that every frame has.
const (
	nodeSelf = iota
	nodeOld
	nodeFirst
)

// Bounds of what a frame keeps for the next evaluation, and of what one evaluation may compute.
const (
	maxCells     = 1 << 17 // 8 MiB; cel-go charges 10 for a list and 1 for a variable in it: the limit ends most before
	maxKept      = 1 << 12
	maxListsKept = 1 << 4 // each has up to maxKept elements
	ticksPerLook = 64
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

// prepare makes room for the program's variables. It is as short as that for most: a rule takes a few dozen nanoseconds.
func (f *Frame) prepare(p *Program) {
	f.Cost = 0
	if len(f.nodes) < p.nodes {
		f.nodes = append(f.nodes, make([]uint32, p.nodes-len(f.nodes))...)
	}
	f.nodes[nodeSelf], f.nodes[nodeOld] = f.Self, f.Old
	if f.value == nil {
		f.value = p.value
	}
	if f.looked {
		f.looked, f.members, f.places = false, [4]memberIndex{}, [4]place{}
	}
	if p.vals+p.bools+p.ints+p.lists == 0 {
		return
	}
	f.vals = room(f.vals, p.vals)
	f.bools = room(f.bools, p.bools)
	f.ints = room(f.ints, p.ints)
	f.lists = room(f.lists, p.lists)
}

// tidy drops what the evaluation computed: it refers to the document.
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

// Forget lets go of the document, for a Frame that waits in a pool, and of scratch that only large evaluations need.
func (f *Frame) Forget() {
	f.Doc, f.Stop = nil, nil
	if f.looked { // by names that are the document's
		f.looked, f.members, f.places = false, [4]memberIndex{}, [4]place{}
	}
	if len(f.lists) > maxListsKept {
		f.lists = nil
	}
}

func room[T any](s []T, n int) []T {
	if len(s) < n {
		s = append(s, make([]T, n-len(s))...)
	}
	return s
}

// strain has the next tick look at Stop: what was done since the last one took long.
func (f *Frame) strain() { f.ticks |= ticksPerLook - 1 }

// tick counts an iteration. It is false when the evaluation must end: the limit is crossed, or nobody waits any more.
func (f *Frame) tick() bool {
	if f.Cost > f.Limit {
		return false
	}
	f.ticks++
	return f.ticks%ticksPerLook != 0 || !f.Stop.Stopped()
}
