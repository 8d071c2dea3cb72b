package correlation

import (
	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/value"
)

// Schema is what correlation needs of a schema node. The zero N is no schema.
type Schema[N any] interface {
	comparable
	// Child returns the schema of the declared property with the name, else that of additionalProperties, else zero.
	Child(name string) N
	// Element returns the schema of the elements of an array, or zero.
	Element() N
	// IsMapList reports whether the node has x-kubernetes-list-type: map. MapKeys returns the number of
	// x-kubernetes-list-map-keys and MapKey the k-th. Only schemas of type array have any.
	IsMapList() bool
	MapKeys() int
	MapKey(k int) string
}

// Trees is the correlation of a new tree with an old tree in the same Doc, and a cache of results. It is valid until
// the Doc is edited. The zero Trees needs Init. It is not safe for concurrent use.
type Trees[N Schema[N]] struct {
	d      *value.Doc
	stop   *interrupt.Signal
	finder *value.Finder
	memo   []verdict            // by node of the new tree; nil until the first comparison
	tables map[uint32]*keyTable // by array of the old tree, for long arrays
	work   int
}

// verdict is the cached result of a comparison of a node with its old value.
type verdict uint8

const (
	unknown verdict = iota
	same
	different
)

// pollEvery is how many values are compared between two looks at the stop signal.
const pollEvery = 1024

// Init prepares the Trees for the trees of d, and keeps its memory. When stop fires, comparisons return arbitrary
// results that must not be used.
func (t *Trees[N]) Init(d *value.Doc, stop *interrupt.Signal) {
	t.d, t.stop, t.finder, t.memo, t.work = d, stop, nil, t.memo[:0], 0
	clear(t.tables)
}

// maxKept is the largest cache that is kept for another use, in bytes.
const maxKept = 1 << 18

// Forget releases the Doc before the Trees returns to a pool.
func (t *Trees[N]) Forget() {
	t.Init(nil, nil)
	if cap(t.memo) > maxKept {
		t.memo = nil
	}
	if len(t.tables) > 0 {
		t.tables = nil
	}
}

// Root returns the correlation of two values with their schema. old may be 0.
func (t *Trees[N]) Root(schema N, self, old uint32) Object[N] {
	return Object[N]{trees: t, schema: schema, self: self, old: old}
}

// remember allocates the cache.
func (t *Trees[N]) remember() {
	if nodes := len(t.d.Nodes); cap(t.memo) < nodes {
		t.memo = make([]verdict, nodes)
	} else {
		t.memo = t.memo[:nodes]
		clear(t.memo)
	}
}

// tick counts work and reports whether the comparison must end.
func (t *Trees[N]) tick() bool {
	if t.work++; t.work < pollEvery {
		return false
	}
	t.work = 0
	return t.stop.Stopped()
}

// Member returns the member of an object with the name, or 0.
func (t *Trees[N]) Member(object uint32, name string) uint32 { return t.member(object, name) }

// fewMembers is up to how many members of an object are searched linearly.
const fewMembers = 64

// member returns the member of an object with the name, or 0.
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
