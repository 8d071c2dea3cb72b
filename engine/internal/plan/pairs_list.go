package plan

import (
	"hash/maphash"
	"slices"
	"strconv"

	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// fewElements is up to how many elements of a list are searched linearly.
const fewElements = 8

// sameKeys returns the first element of an old map list with the same keys as an element, or 0, like upstream's
// MapList. It returns 0 if the element is not an object, or if a key is absent, null, an array or an object. Of several
// keys, floats are compared by six decimals. Without an old list, t may be nil.
func (t *Pairs) sameKeys(schema *Node, old, element uint32) uint32 {
	if old == 0 || schema == nil || schema.Flags&ListMap == 0 || schema.Type != "array" ||
		len(schema.ListKeys) == 0 || t.d.Nodes[old].Kind != tree.Array || !t.hasKeys(schema.ListKeys, element) {
		return 0
	}
	keys := schema.ListKeys
	if t.d.Nodes[old].Live > fewElements {
		found := t.table(keys, old)[t.hashKeys(keys, element)]
		if found == 0 || t.equalKeys(keys, element, found) {
			return found
		} // another element has the same hash
	}
	return t.search(keys, old, element)
}

// search is sameKeys without a table.
func (t *Pairs) search(keys []ListKey, old, element uint32) uint32 {
	for c := t.d.Nodes[old].First; c != 0; c = t.d.Nodes[c].Next {
		if t.equalKeys(keys, element, c) {
			return c
		}
	}
	return 0
}

// key returns a key of an element, or 0 if it has no scalar there.
func (t *Pairs) key(element uint32, k *ListKey) uint32 {
	c := t.Member(element, k.Name) // 0 if the element is not an object
	switch t.d.Nodes[c].Kind {
	case tree.Null, tree.Array, tree.Object:
		return 0
	}
	return c
}

func (t *Pairs) hasKeys(keys []ListKey, element uint32) bool {
	return !slices.ContainsFunc(keys, func(k ListKey) bool { return t.key(element, &k) == 0 })
}

// equalKeys reports whether an old element has the keys of a new one, which has all keys.
func (t *Pairs) equalKeys(keys []ListKey, element, old uint32) bool {
	for k := range keys {
		a, b := t.key(element, &keys[k]), t.key(old, &keys[k])
		if b == 0 {
			return false
		}
		if len(keys) > 1 && quirk.On(quirk.FloatKeysPairedBySixDigits) && t.d.Nodes[a].Kind == tree.Float &&
			t.d.Nodes[b].Kind == tree.Float {
			var x, y [64]byte
			if string(keyText(x[:0], t.d.Float(a))) != string(keyText(y[:0], t.d.Float(b))) {
				return false
			}
		} else if !tree.Equal(t.d, a, t.d, b) {
			return false
		}
	}
	return true
}

// keyText returns a float in a key of several parts, as fmt prints it with %f.
func keyText(dst []byte, f float64) []byte { return strconv.AppendFloat(dst, f, 'f', 6, 64) }

// table returns the elements of an old list by the hashes of their keys: the first of those with the same hash.
func (t *Pairs) table(keys []ListKey, old uint32) map[uint32]uint32 {
	if table := t.tables[old]; table != nil {
		return table
	}
	table := make(map[uint32]uint32, t.d.Nodes[old].Live)
	for c := t.d.Nodes[old].First; c != 0 && !t.tick(); c = t.d.Nodes[c].Next {
		if t.hasKeys(keys, c) {
			if h := t.hashKeys(keys, c); table[h] == 0 {
				table[h] = c
			}
		}
	}
	if t.tables == nil {
		t.tables = map[uint32]map[uint32]uint32{}
	}
	t.tables[old] = table
	return table
}

// hashKeys returns a hash of the keys of an element, which has all keys.
func (t *Pairs) hashKeys(keys []ListKey, element uint32) (h uint32) {
	for k := range keys {
		c := t.key(element, &keys[k])
		if len(keys) > 1 && t.d.Nodes[c].Kind == tree.Float {
			var b [64]byte
			h = mix(h, maphash.Bytes(seed, keyText(b[:0], t.d.Float(c))))
		} else {
			h = mix(h, hashScalar(t.d, c))
		}
	}
	return h
}
