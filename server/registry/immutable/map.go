// Package immutable has immutable collections: a change returns a new collection, which shares the unchanged parts with
// the old one. The cost of a change does not depend on the size.
//
// Map is a hash map; Sorted keeps its keys in order.
package immutable

import (
	"hash/maphash"
	"iter"
	"math/bits"
	"slices"
)

// Map is a hash trie. Each level uses five bits of the key's hash. The zero Map is empty.
type Map[K comparable, V any] struct {
	root *node[K, V]
	len  int
}

const (
	fanout = 5
	depth  = 64 // bits of a hash
)

// seed prevents callers from choosing keys that collide.
var seed = maphash.MakeSeed()

// node has a slot for each bit set in present, in their order. At the end of the hash, all slots have leaves with the
// same hash, in no order.
type node[K comparable, V any] struct {
	present uint32
	slots   []slot[K, V]
}

// slot has either a leaf or a node.
type slot[K comparable, V any] struct {
	below *node[K, V]
	leaf  *leaf[K, V]
}

type leaf[K comparable, V any] struct {
	key   K
	value V
}

// Len returns the number of entries.
func (m Map[K, V]) Len() int { return m.len }

// Get returns the value of a key and whether it exists.
func (m Map[K, V]) Get(key K) (value V, found bool) {
	n, hash := m.root, maphash.Comparable(seed, key)
	for shift := 0; n != nil; shift += fanout {
		if shift >= depth {
			for _, s := range n.slots {
				if s.leaf.key == key {
					return s.leaf.value, true
				}
			}
			return value, false
		}
		bit := uint32(1) << (hash >> shift & (1<<fanout - 1))
		if n.present&bit == 0 {
			return value, false
		}
		s := n.slots[bits.OnesCount32(n.present&(bit-1))]
		if s.below == nil {
			if s.leaf.key == key {
				return s.leaf.value, true
			}
			return value, false
		}
		n = s.below
	}
	return value, false
}

// Set returns a Map in which key has the value.
func (m Map[K, V]) Set(key K, value V) Map[K, V] {
	root, added := m.root.set(&leaf[K, V]{key, value}, maphash.Comparable(seed, key), 0)
	m.root = root
	if added {
		m.len++
	}
	return m
}

// Delete returns a Map without key.
func (m Map[K, V]) Delete(key K) Map[K, V] {
	root, removed := m.root.remove(key, maphash.Comparable(seed, key), 0)
	if removed {
		m.root = root
		m.len--
	}
	return m
}

// All yields the entries in no particular order.
func (m Map[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) { m.root.each(yield) }
}

func (n *node[K, V]) each(yield func(K, V) bool) bool {
	if n == nil {
		return true
	}
	for _, s := range n.slots {
		if s.below != nil {
			if !s.below.each(yield) {
				return false
			}
		} else if !yield(s.leaf.key, s.leaf.value) {
			return false
		}
	}
	return true
}

// set returns a copy of n with l, and whether its key is new.
func (n *node[K, V]) set(l *leaf[K, V], hash uint64, shift int) (*node[K, V], bool) {
	if n == nil {
		n = &node[K, V]{}
	}
	if shift >= depth {
		i := slices.IndexFunc(n.slots, func(s slot[K, V]) bool { return s.leaf.key == l.key })
		if i < 0 {
			return &node[K, V]{slots: append(slices.Clip(n.slots), slot[K, V]{leaf: l})}, true
		}
		return n.with(i, slot[K, V]{leaf: l}), false
	}
	bit := uint32(1) << (hash >> shift & (1<<fanout - 1))
	i := bits.OnesCount32(n.present & (bit - 1))
	if n.present&bit == 0 {
		slots := make([]slot[K, V], len(n.slots)+1)
		copy(slots, n.slots[:i])
		slots[i].leaf = l
		copy(slots[i+1:], n.slots[i:])
		return &node[K, V]{n.present | bit, slots}, true
	}
	old := n.slots[i]
	if old.below == nil && old.leaf.key == l.key {
		return n.with(i, slot[K, V]{leaf: l}), false
	}
	below := old.below
	if below == nil {
		below, _ = below.set(old.leaf, maphash.Comparable(seed, old.leaf.key), shift+fanout)
	}
	below, added := below.set(l, hash, shift+fanout)
	return n.with(i, slot[K, V]{below: below}), added
}

// remove returns a copy of n without key, nil if that is empty, and whether n had the key.
func (n *node[K, V]) remove(key K, hash uint64, shift int) (*node[K, V], bool) {
	if n == nil {
		return nil, false
	}
	var i int
	var bit uint32
	if shift >= depth {
		if i = slices.IndexFunc(n.slots, func(s slot[K, V]) bool { return s.leaf.key == key }); i < 0 {
			return n, false
		}
	} else {
		if bit = uint32(1) << (hash >> shift & (1<<fanout - 1)); n.present&bit == 0 {
			return n, false
		}
		i = bits.OnesCount32(n.present & (bit - 1))
		s := n.slots[i]
		if s.below != nil {
			below, removed := s.below.remove(key, hash, shift+fanout)
			switch {
			case !removed:
				return n, false
			case below == nil:
			case len(below.slots) == 1 && below.slots[0].below == nil:
				return n.with(i, below.slots[0]), true // a single leaf needs no node
			default:
				return n.with(i, slot[K, V]{below: below}), true
			}
		} else if s.leaf.key != key {
			return n, false
		}
	}
	if len(n.slots) == 1 {
		return nil, true
	}
	return &node[K, V]{n.present &^ bit, slices.Concat(n.slots[:i], n.slots[i+1:])}, true
}

// with returns a copy of n in which slot i is s.
func (n *node[K, V]) with(i int, s slot[K, V]) *node[K, V] {
	slots := slices.Clone(n.slots)
	slots[i] = s
	return &node[K, V]{n.present, slots}
}
