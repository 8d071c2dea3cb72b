package registry

import (
	"cmp"
	"iter"
	"slices"
	"sort"
)

// immutableMap is a map whose changes return a new map, which shares the unchanged parts with the old one. It keeps its
// keys in order. It consists of pieces of at most maxPiece entries; a change copies one piece and the list of pieces.
// The zero immutableMap is empty.
type immutableMap[K cmp.Ordered, V any] struct {
	pieces [][]mapEntry[K, V] // none empty
	len    int
}

type mapEntry[K cmp.Ordered, V any] struct {
	key   K
	value V
}

const maxPiece = 128

// Len returns the number of entries.
func (m immutableMap[K, V]) Len() int { return m.len }

// find returns the piece and the index at which key is, or would be inserted.
func (m immutableMap[K, V]) find(key K) (piece, index int, found bool) {
	// The last piece that does not begin after key, or the first piece.
	piece = max(sort.Search(len(m.pieces), func(i int) bool { return m.pieces[i][0].key > key })-1, 0)
	if piece == len(m.pieces) {
		return piece, 0, false
	}
	index, found = slices.BinarySearchFunc(m.pieces[piece], key, func(e mapEntry[K, V], k K) int { return cmp.Compare(e.key, k) })
	return piece, index, found
}

// Get returns the value of a key and whether it exists.
func (m immutableMap[K, V]) Get(key K) (value V, found bool) {
	piece, index, found := m.find(key)
	if !found {
		return value, false
	}
	return m.pieces[piece][index].value, true
}

// Set returns a map in which key has the value.
func (m immutableMap[K, V]) Set(key K, value V) immutableMap[K, V] {
	e := mapEntry[K, V]{key, value}
	piece, index, found := m.find(key)
	if len(m.pieces) == 0 {
		return immutableMap[K, V]{[][]mapEntry[K, V]{{e}}, 1}
	}
	old := m.pieces[piece]
	if found {
		changed := slices.Clone(old)
		changed[index] = e
		return immutableMap[K, V]{replacePiece(m.pieces, piece, changed), m.len}
	}
	changed := slices.Concat(old[:index], []mapEntry[K, V]{e}, old[index:])
	if len(changed) <= maxPiece {
		return immutableMap[K, V]{replacePiece(m.pieces, piece, changed), m.len + 1}
	}
	// Keys often come in order, so a full piece that grows at the end stays full.
	cut := len(changed) / 2
	if index == len(old) && piece == len(m.pieces)-1 {
		cut = len(old)
	}
	return immutableMap[K, V]{replacePiece(m.pieces, piece, slices.Clip(changed[:cut]), changed[cut:]), m.len + 1}
}

// Delete returns a map without key.
func (m immutableMap[K, V]) Delete(key K) immutableMap[K, V] {
	piece, index, found := m.find(key)
	if !found {
		return m
	}
	old := m.pieces[piece]
	changed := slices.Concat(old[:index], old[index+1:])
	if len(changed) == 0 {
		return immutableMap[K, V]{replacePiece(m.pieces, piece), m.len - 1}
	}
	pieces := replacePiece(m.pieces, piece, changed)
	if piece > 0 && len(pieces[piece-1])+len(changed) <= maxPiece/2 {
		pieces[piece-1] = slices.Concat(pieces[piece-1], changed)
		pieces = slices.Delete(pieces, piece, piece+1)
	}
	return immutableMap[K, V]{pieces, m.len - 1}
}

// replacePiece returns a copy of pieces in which others replace piece i.
func replacePiece[T any](pieces [][]T, i int, others ...[]T) [][]T {
	return slices.Concat(pieces[:i], others, pieces[i+1:])
}

// All yields the entries in order.
func (m immutableMap[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) { m.yield(0, 0, yield) }
}

// After yields the entries with keys greater than key, in order.
func (m immutableMap[K, V]) After(key K) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		piece, index, found := m.find(key)
		if found {
			index++
		}
		m.yield(piece, index, yield)
	}
}

func (m immutableMap[K, V]) yield(piece, index int, yield func(K, V) bool) {
	for ; piece < len(m.pieces); piece, index = piece+1, 0 {
		for _, e := range m.pieces[piece][index:] {
			if !yield(e.key, e.value) {
				return
			}
		}
	}
}
