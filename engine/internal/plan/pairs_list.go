package plan

import (
	"hash/maphash"
	"strconv"

	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/value"
)

// MapList finds elements of an old list by the keys of new ones, like upstream's MapList. It is empty for other values
// than map lists with keys. It is small: pass it by value.
type MapList struct {
	trees  *Pairs
	schema *Node
	old    uint32
	table  *keyTable // nil for a short list
}

// mapKeys returns x-kubernetes-list-map-keys. Other schemas than those of map lists have none.
func (n *Node) mapKeys() []ListKey {
	if n == nil || n.Flags&ListMap == 0 || n.Type != "array" {
		return nil
	}
	return n.ListKeys
}

// MapList returns the MapList of an old array.
func (t *Pairs) MapList(schema *Node, old uint32) MapList {
	n := &t.d.Nodes[old]
	if n.Kind != value.Array || n.Live == 0 || len(schema.mapKeys()) == 0 {
		return MapList{}
	}
	l := MapList{trees: t, schema: schema, old: old}
	if n.Live > fewElements {
		l.table = t.table(l)
	}
	return l
}

// Get returns the first element of the list with the same keys as an element, or 0. It returns 0 if the element is not
// an object, or if a key is absent, null, an array or an object. Of several keys, floats are compared by six decimals.
func (l MapList) Get(element uint32) uint32 {
	if l.trees == nil || !l.hasKeys(element) {
		return 0
	}
	if l.table != nil {
		_, found := l.probe(element)
		return found
	}
	for c := l.trees.d.Nodes[l.old].First; c != 0; c = l.trees.d.Nodes[c].Next {
		if l.sameKeys(element, c) {
			return c
		}
	}
	return 0
}

// key returns the k-th key of an element, or 0 if it has no scalar there.
func (l MapList) key(element uint32, k int) uint32 {
	c := l.trees.Member(element, l.schema.ListKeys[k].Name) // 0 if the element is not an object
	switch l.trees.d.Nodes[c].Kind {
	case value.Null, value.Array, value.Object:
		return 0
	}
	return c
}

func (l MapList) hasKeys(element uint32) bool {
	for k := range l.schema.ListKeys {
		if l.key(element, k) == 0 {
			return false
		}
	}
	return true
}

// sameKeys reports whether an old element has the keys of a new one, which has all keys.
func (l MapList) sameKeys(element, old uint32) bool {
	several := len(l.schema.ListKeys) > 1
	for k := range l.schema.ListKeys {
		if a, b := l.key(element, k), l.key(old, k); b == 0 || !l.trees.sameKey(a, b, several) {
			return false
		}
	}
	return true
}

func (t *Pairs) sameKey(a, b uint32, several bool) bool {
	if several && quirk.On(quirk.FloatKeysPairedBySixDigits) && t.d.Nodes[a].Kind == value.Float &&
		t.d.Nodes[b].Kind == value.Float {
		var x, y [64]byte
		return string(keyText(x[:0], t.d.Float(a))) == string(keyText(y[:0], t.d.Float(b)))
	}
	return value.Equal(t.d, a, t.d, b)
}

// keyText returns a float in a key of several parts, as fmt prints it with %f.
func keyText(dst []byte, f float64) []byte { return strconv.AppendFloat(dst, f, 'f', 6, 64) }

// fewElements is up to how many elements of a list are searched linearly.
const fewElements = 8

// keyTable is an open-addressed hash table of the elements of one old list. Of elements with the same keys it has the
// first.
type keyTable struct {
	mask  uint64
	slots []uint32
}

// table returns the table of a list, built once.
func (t *Pairs) table(l MapList) *keyTable {
	if made := t.tables[l.old]; made != nil {
		return made
	}
	size := uint64(4 * fewElements)
	for size < 2*uint64(t.d.Nodes[l.old].Live) {
		size *= 2
	}
	made := &keyTable{mask: size - 1, slots: make([]uint32, size)}
	l.table = made
	for c := t.d.Nodes[l.old].First; c != 0 && !t.tick(); c = t.d.Nodes[c].Next {
		if l.hasKeys(c) {
			if h, known := l.probe(c); known == 0 {
				made.slots[h] = c
			}
		}
	}
	if t.tables == nil {
		t.tables = map[uint32]*keyTable{}
	}
	t.tables[l.old] = made
	return made
}

// probe returns the slot for an element's keys, and the element there, or 0.
func (l MapList) probe(element uint32) (slot uint64, found uint32) {
	h := l.hash(element) & l.table.mask
	for ; l.table.slots[h] != 0; h = (h + 1) & l.table.mask {
		if l.sameKeys(element, l.table.slots[h]) {
			return h, l.table.slots[h]
		}
	}
	return h, 0
}

func (l MapList) hash(element uint32) uint64 {
	d, several := l.trees.d, len(l.schema.ListKeys) > 1
	var h maphash.Hash
	h.SetSeed(seed)
	for k := range l.schema.ListKeys {
		c := l.key(element, k)
		kind := d.Nodes[c].Kind
		_ = h.WriteByte(byte(kind))
		switch kind {
		case value.String:
			_, _ = h.WriteString(d.Str(c))
		case value.Int:
			var b [20]byte
			_, _ = h.Write(strconv.AppendInt(b[:0], d.Int(c), 10))
		case value.Float:
			var b [64]byte
			f := d.Float(c)
			if several {
				_, _ = h.Write(keyText(b[:0], f))
			} else {
				if f == 0 {
					f = 0 // as is -0
				}
				_, _ = h.Write(strconv.AppendFloat(b[:0], f, 'b', -1, 64))
			}
		}
		_ = h.WriteByte(0)
	}
	return h.Sum64()
}
