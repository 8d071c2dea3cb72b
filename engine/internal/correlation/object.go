package correlation

import (
	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/value"
)

// Object is a value of the new tree with its old value. The zero Object does not correlate: it has no children and
// equals nothing. Objects are small: pass them by value.
type Object[N Schema[N]] struct {
	trees     *Trees[N]
	schema    N
	self, old uint32
}

// Known reports whether the value correlates.
func (o Object[N]) Known() bool { return o.trees != nil }

// Self returns the node of the value.
func (o Object[N]) Self() uint32 { return o.self }

// Old returns the node of the old value, or 0.
func (o Object[N]) Old() uint32 { return o.old }

// Key returns the member of the value with the name. It is the zero Object unless both values are objects with the
// member, and the schema knows it.
func (o Object[N]) Key(name string) Object[N] {
	if o.trees == nil {
		return Object[N]{}
	}
	return o.key(name, o.trees.member(o.self, name))
}

// Member is Key for a walk that has the member's node.
func (o Object[N]) Member(member uint32) Object[N] {
	if o.trees == nil {
		return Object[N]{}
	}
	return o.key(o.trees.d.Key(member), member)
}

func (o Object[N]) key(name string, member uint32) Object[N] {
	var none N
	if member == 0 || o.old == 0 || o.schema == none || o.trees.d.Nodes[o.self].Kind != value.Object {
		return Object[N]{}
	}
	child := o.schema.Child(name)
	if child == none {
		return Object[N]{}
	}
	old := o.trees.member(o.old, name)
	if old == 0 {
		return Object[N]{}
	}
	return Object[N]{trees: o.trees, schema: child, self: member, old: old}
}

// Index returns an element of the value. If that is a map list, its old value is the first one with the same keys. It
// is the zero Object for other elements.
func (o Object[N]) Index(element uint32) Object[N] {
	var none N
	if o.trees == nil || o.schema == none || o.trees.d.Nodes[o.self].Kind != value.Array || !o.schema.IsMapList() {
		return Object[N]{}
	}
	item := o.schema.Element()
	if item == none {
		return Object[N]{}
	}
	old := o.trees.MapList(o.schema, o.old).Get(element)
	if old == 0 {
		return Object[N]{}
	}
	return Object[N]{trees: o.trees, schema: item, self: element, old: old}
}

// Equal reports whether the value is unchanged: upstream's CachedDeepEqual. It is false for the zero Object.
func (o Object[N]) Equal() bool {
	return o.trees != nil && o.trees.equal(o.schema, o.self, o.old)
}

func (t *Trees[N]) equal(schema N, self, old uint32) bool {
	m, n := &t.d.Nodes[self], &t.d.Nodes[old]
	switch {
	case m.Kind == value.Null || n.Kind == value.Null: // node 0 is null
		return m.Kind == n.Kind
	case !quirk.On(quirk.IntegerDiffersFromFloat) && isNumber(m.Kind) && isNumber(n.Kind):
		return t.d.Number(self) == t.d.Number(old)
	case m.Kind != n.Kind:
		return false
	case m.Kind != value.Array && m.Kind != value.Object:
		return value.Equal(t.d, self, t.d, old)
	case m.Live != n.Live:
		return false
	case m.Live == 0:
		return true
	}
	if t.tick() {
		return false
	}
	if len(t.memo) <= int(self) {
		t.remember()
	}
	if known := t.memo[self]; known != unknown {
		return known == same
	}
	var equal bool
	if m.Kind == value.Object {
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
func (t *Trees[N]) equalObjects(schema N, self, old uint32) bool {
	var none N
	if schema == none {
		return false
	}
	e := t.d.Nodes[old].First
	for c := t.d.Nodes[self].First; c != 0; c = t.d.Nodes[c].Next {
		name := t.d.Key(c)
		child := schema.Child(name)
		if child == none {
			return !quirk.On(quirk.EqualValuesRatcheted) && value.Equal(t.d, self, t.d, old)
		}
		other := e
		if e == 0 || t.d.Key(e) != name {
			if other = t.member(old, name); other == 0 {
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
func (t *Trees[N]) equalArrays(schema N, self, old uint32) bool {
	var none N
	if schema == none || !schema.IsMapList() || !quirk.On(quirk.MapListItemsPairedByKey) {
		return value.Equal(t.d, self, t.d, old)
	}
	item := schema.Element()
	if item == none {
		return false
	}
	list := t.MapList(schema, old)
	for c := t.d.Nodes[self].First; c != 0; c = t.d.Nodes[c].Next {
		other := list.Get(c)
		if other == 0 || !t.equal(item, c, other) {
			return false
		}
	}
	return true
}

func isNumber(k value.Kind) bool { return k == value.Int || k == value.Float }
