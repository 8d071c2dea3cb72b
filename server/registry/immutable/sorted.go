package immutable

import (
	"cmp"
	"iter"
	"slices"
	"sort"
)

// Sorted is a map in the order of its keys. It consists of pieces of at most maxPiece entries; a change copies one
// piece and the list of pieces. The zero Sorted is empty.
type Sorted[K cmp.Ordered, V any] struct {
	pieces [][]entry[K, V] // none empty
	len    int
}

type entry[K cmp.Ordered, V any] struct {
	key   K
	value V
}

const maxPiece = 128

// Len returns the number of entries.
func (s Sorted[K, V]) Len() int { return s.len }

// find returns the piece and the index at which key is, or would be inserted.
func (s Sorted[K, V]) find(key K) (piece, place int, found bool) {
	// The last piece that does not begin after key, or the first piece.
	piece = max(sort.Search(len(s.pieces), func(i int) bool { return s.pieces[i][0].key > key })-1, 0)
	if piece == len(s.pieces) {
		return piece, 0, false
	}
	place, found = slices.BinarySearchFunc(s.pieces[piece], key, func(e entry[K, V], k K) int { return cmp.Compare(e.key, k) })
	return piece, place, found
}

// Get returns the value of a key and whether it exists.
func (s Sorted[K, V]) Get(key K) (value V, found bool) {
	piece, place, found := s.find(key)
	if !found {
		return value, false
	}
	return s.pieces[piece][place].value, true
}

// Set returns a Sorted in which key has the value.
func (s Sorted[K, V]) Set(key K, value V) Sorted[K, V] {
	e := entry[K, V]{key, value}
	piece, place, found := s.find(key)
	if len(s.pieces) == 0 {
		return Sorted[K, V]{[][]entry[K, V]{{e}}, 1}
	}
	old := s.pieces[piece]
	if found {
		changed := slices.Clone(old)
		changed[place] = e
		return Sorted[K, V]{replace(s.pieces, piece, changed), s.len}
	}
	changed := slices.Concat(old[:place], []entry[K, V]{e}, old[place:])
	if len(changed) <= maxPiece {
		return Sorted[K, V]{replace(s.pieces, piece, changed), s.len + 1}
	}
	// Keys often come in order, so a full piece that grows at the end stays full.
	cut := len(changed) / 2
	if place == len(old) && piece == len(s.pieces)-1 {
		cut = len(old)
	}
	return Sorted[K, V]{replace(s.pieces, piece, slices.Clip(changed[:cut]), changed[cut:]), s.len + 1}
}

// Delete returns a Sorted without key.
func (s Sorted[K, V]) Delete(key K) Sorted[K, V] {
	piece, place, found := s.find(key)
	if !found {
		return s
	}
	old := s.pieces[piece]
	changed := slices.Concat(old[:place], old[place+1:])
	switch {
	case len(changed) == 0:
		return Sorted[K, V]{replace(s.pieces, piece), s.len - 1}
	case piece > 0 && len(s.pieces[piece-1])+len(changed) <= maxPiece/2:
		merged := slices.Concat(s.pieces[piece-1], changed)
		pieces := replace(s.pieces, piece)
		pieces[piece-1] = merged
		return Sorted[K, V]{pieces, s.len - 1}
	}
	return Sorted[K, V]{replace(s.pieces, piece, changed), s.len - 1}
}

// replace returns a copy of pieces in which others replace piece i.
func replace[T any](pieces [][]T, i int, others ...[]T) [][]T {
	return slices.Concat(pieces[:i], others, pieces[i+1:])
}

// All yields the entries in order.
func (s Sorted[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) { s.yield(0, 0, yield) }
}

// After yields the entries with keys greater than key, in order.
func (s Sorted[K, V]) After(key K) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		piece, place, found := s.find(key)
		if found {
			place++
		}
		s.yield(piece, place, yield)
	}
}

func (s Sorted[K, V]) yield(piece, place int, yield func(K, V) bool) {
	for ; piece < len(s.pieces); piece, place = piece+1, 0 {
		for _, e := range s.pieces[piece][place:] {
			if !yield(e.key, e.value) {
				return
			}
		}
	}
}
