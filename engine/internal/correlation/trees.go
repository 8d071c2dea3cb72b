package correlation

import (
	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/internal/value"
)

// Schema is what a schema node says about the values below it. The zero N is no schema.
type Schema[N any] interface {
	comparable
	// Child is the schema of the member with the name: that of the declared property, else that of additionalProperties; zero if
	// there is neither.
	Child(name string) N
	// Element is the schema of the elements of an array, zero if there is none.
	Element() N
	// IsMapList reports x-kubernetes-list-type: map, MapKeys how many x-kubernetes-list-map-keys there are, and MapKey the k-th.
	// A schema that is not of type array has none.
	IsMapList() bool
	MapKeys() int
	MapKey(k int) string
}

// Trees is the correlation of one new tree with one old tree, both in one Doc: what was found out about them so far. It holds for as
// long as the Doc is not edited. The zero Trees needs Init; it is used by one goroutine.
type Trees[N Schema[N]] struct {
	d      *value.Doc
	stop   *interrupt.Signal
	finder *value.Finder
	memo   []verdict            // by node of the new tree; nil until something is compared
	tables map[uint32]*keyTable // by array of the old tree: those that are too long to be searched
	work   int
}

// verdict is what is known about whether a node is equal to its old value.
type verdict uint8

const (
	unknown verdict = iota
	same
	different
)

// pollEvery is how many values are compared between two looks at the stop signal.
const pollEvery = 1024

// Init makes the Trees ready for the trees of d, and keeps its memory. When stop tells so, comparisons end with some answer, which must
// not be used.
func (t *Trees[N]) Init(d *value.Doc, stop *interrupt.Signal) {
	t.d, t.stop, t.finder, t.memo, t.work = d, stop, nil, t.memo[:0], 0
	clear(t.tables)
}

// maxKept is the largest memo that is kept for another use, in bytes.
const maxKept = 1 << 18

// Forget lets go of the Doc, for Trees that wait in a pool.
func (t *Trees[N]) Forget() {
	t.Init(nil, nil)
	if cap(t.memo) > maxKept {
		t.memo = nil
	}
	if len(t.tables) > 0 {
		t.tables = nil
	}
}

// Root is the correlation of two values that belong together, judged by a schema. old is 0 if there is no old value.
func (t *Trees[N]) Root(schema N, self, old uint32) Object[N] {
	return Object[N]{trees: t, schema: schema, self: self, old: old}
}

// remember makes room for what is found out about each node.
func (t *Trees[N]) remember() {
	if nodes := len(t.d.Nodes); cap(t.memo) < nodes {
		t.memo = make([]verdict, nodes)
	} else {
		t.memo = t.memo[:nodes]
		clear(t.memo)
	}
}

// tick counts work. True: the comparison ends here.
func (t *Trees[N]) tick() bool {
	if t.work++; t.work < pollEvery {
		return false
	}
	t.work = 0
	return t.stop.Stopped()
}

// Member is the member of an object with the name, 0 if there is none or if it is no object.
func (t *Trees[N]) Member(object uint32, name string) uint32 { return t.member(object, name) }

// fewMembers is up to how many members of an object are searched one by one.
const fewMembers = 64

// member is the member of an object with the name, 0 if there is none.
func (t *Trees[N]) member(object uint32, name string) uint32 {
	n := &t.d.Nodes[object]
	if n.Kind != value.Object || n.Live <= fewMembers {
		return t.d.Field(object, name)
	}
	if t.finder == nil {
		t.finder = t.d.Finder()
	}
	return t.finder.Field(object, name)
}
