package plan

import (
	"slices"

	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Correlation finds the old values of the values of an updated object, and compares them, like upstream does.
// Ratcheting (unchanged values may stay invalid) and transition rules (self and oldSelf) use it.
//
// Members of objects correlate by name if the schema knows them, and elements of map lists by their keys. Elements of
// other lists do not correlate.
//
// Equal is not DeepEqual, since it descends by correlation: an object with a member that the schema does not know is
// not even equal to itself, and a map list is equal to the same elements in another order. Values that do not correlate
// below themselves (other lists, scalars) are compared like reflect.DeepEqual: the integer 1 is not the float 1.0.
//
// Upstream: k8s.io/apiserver pkg/cel/common/equality.go and maplist.go.

// Pairs is the correlation of a new tree with an old tree in the same Doc, and a cache of results. It is valid until
// the Doc is edited. The zero Pairs needs Init. It is not safe for concurrent use.
type Pairs struct {
	d      *tree.Doc
	stop   *interrupt.Signal
	finder *tree.Finder
	memo   []verdict                    // by node of the new tree; nil until the first comparison
	tables map[uint32]map[uint32]uint32 // by array of the old tree, for long arrays
	work   int
}

// verdict is the cached result of a comparison of a node with its old value.
type verdict uint8

const (
	unknown verdict = iota
	same
	different
)

// Init prepares the Pairs for the trees of d, and keeps its memory. When stop fires, comparisons return arbitrary
// results that must not be used.
func (t *Pairs) Init(d *tree.Doc, stop *interrupt.Signal) {
	t.d, t.stop, t.finder, t.memo, t.work = d, stop, nil, t.memo[:0], 0
	clear(t.tables)
}

// maxKept is the largest cache that is kept for another use, in bytes.
const maxKept = 1 << 18

// Forget releases the Doc before the Pairs returns to a pool.
func (t *Pairs) Forget() {
	t.Init(nil, nil)
	if cap(t.memo) > maxKept {
		t.memo = nil
	}
	if len(t.tables) > 0 {
		t.tables = nil
	}
}

// Root returns the correlation of two values with their schema. old may be 0.
func (t *Pairs) Root(schema *Node, self, old uint32) Pair {
	return Pair{trees: t, schema: schema, self: self, old: old}
}

// tick counts work and reports whether the comparison must end.
func (t *Pairs) tick() bool {
	if t.work++; t.work < pollEvery {
		return false
	}
	t.work = 0
	return t.stop.Stopped()
}

// fewMembers is up to how many members of an object are searched linearly.
const fewMembers = 64

// Member returns the member of an object with the name, or 0. Without an object, t may be nil.
func (t *Pairs) Member(object uint32, name string) uint32 {
	if object == 0 {
		return 0
	}
	n := &t.d.Nodes[object]
	if n.Kind != tree.Object || n.Live <= fewMembers {
		return t.d.Field(object, name)
	}
	if t.finder == nil {
		t.finder = t.d.Finder()
	}
	return t.finder.Field(object, name)
}

// Pair is a value of the new tree with its old value. The zero Pair does not correlate: it has no children and equals
// nothing. Pairs are small: pass them by value.
type Pair struct {
	trees     *Pairs
	schema    *Node
	self, old uint32
}

// Known reports whether the value correlates.
func (o Pair) Known() bool { return o.trees != nil }

// Member returns a member of the value. It is the zero Pair unless both values are objects with the member, and the
// schema knows it.
func (o Pair) Member(member uint32) Pair {
	if o.trees == nil || member == 0 || o.old == 0 || o.schema == nil ||
		o.trees.d.Nodes[o.self].Kind != tree.Object {
		return Pair{}
	}
	name := o.trees.d.Key(member)
	child, old := o.schema.Child(name), o.trees.Member(o.old, name)
	if child == nil || old == 0 {
		return Pair{}
	}
	return Pair{trees: o.trees, schema: child, self: member, old: old}
}

// Index returns an element of the value. If that is a map list, its old value is the first one with the same keys. It
// is the zero Pair for other elements.
func (o Pair) Index(element uint32) Pair {
	if o.trees == nil || o.schema == nil || o.schema.Items == nil || o.trees.d.Nodes[o.self].Kind != tree.Array {
		return Pair{}
	}
	old := o.trees.sameKeys(o.schema, o.old, element)
	if old == 0 {
		return Pair{}
	}
	return Pair{trees: o.trees, schema: o.schema.Items, self: element, old: old}
}

// Equal reports whether the value is unchanged: upstream's CachedDeepEqual. It is false for the zero Pair.
func (o Pair) Equal() bool {
	return o.trees != nil && o.trees.equal(o.schema, o.self, o.old)
}

func (t *Pairs) equal(schema *Node, self, old uint32) bool {
	m, n := &t.d.Nodes[self], &t.d.Nodes[old]
	switch {
	case m.Kind == tree.Null || n.Kind == tree.Null: // node 0 is null
		return m.Kind == n.Kind
	case !quirk.On(quirk.IntegerDiffersFromFloat) && isNumber(m.Kind) && isNumber(n.Kind):
		return t.d.Number(self) == t.d.Number(old)
	case m.Kind != n.Kind:
		return false
	case m.Kind != tree.Array && m.Kind != tree.Object:
		return tree.Equal(t.d, self, t.d, old)
	case m.Live != n.Live:
		return false
	case m.Live == 0:
		return true
	}
	if t.tick() {
		return false
	}
	if nodes := len(t.d.Nodes); len(t.memo) < nodes {
		t.memo = slices.Grow(t.memo[:0], nodes)[:nodes]
		clear(t.memo)
	}
	if known := t.memo[self]; known != unknown {
		return known == same
	}
	var equal bool
	if m.Kind == tree.Object {
		equal = t.equalObjects(schema, self, old)
	} else {
		equal = t.equalArrays(schema, self, old)
	}
	t.memo[self] = different
	if equal {
		t.memo[self] = same
	}
	return equal
}

// equalObjects compares objects with the same number of members. It searches only if their order differs.
func (t *Pairs) equalObjects(schema *Node, self, old uint32) bool {
	if schema == nil {
		return false
	}
	e := t.d.Nodes[old].First
	for c := t.d.Nodes[self].First; c != 0; c = t.d.Nodes[c].Next {
		name := t.d.Key(c)
		child := schema.Child(name)
		if child == nil {
			return !quirk.On(quirk.EqualValuesRatcheted) && tree.Equal(t.d, self, t.d, old)
		}
		other := e
		if e == 0 || t.d.Key(e) != name {
			if other = t.Member(old, name); other == 0 {
				return false
			}
		}
		if !t.equal(child, c, other) {
			return false
		}
		e = t.d.Nodes[other].Next
	}
	return true
}

// equalArrays compares arrays of the same length.
func (t *Pairs) equalArrays(schema *Node, self, old uint32) bool {
	if schema == nil || schema.Flags&ListMap == 0 || !quirk.On(quirk.MapListItemsPairedByKey) {
		return tree.Equal(t.d, self, t.d, old)
	}
	if schema.Items == nil {
		return false
	}
	for c := t.d.Nodes[self].First; c != 0; c = t.d.Nodes[c].Next {
		other := t.sameKeys(schema, old, c)
		if other == 0 || !t.equal(schema.Items, c, other) {
			return false
		}
	}
	return true
}

func isNumber(k tree.Kind) bool { return k == tree.Int || k == tree.Float }
