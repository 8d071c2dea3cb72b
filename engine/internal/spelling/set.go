package spelling

import (
	"iter"
	"math/bits"
)

// Set is a set of places in a list.
type Set []uint64

// All yields the places in their order.
func (s Set) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, word := range s {
			for ; word != 0; word &= word - 1 {
				if !yield(i*64 + bits.TrailingZeros64(word)) {
					return
				}
			}
		}
	}
}

func (s Set) add(i uint16) { s[i/64] |= 1 << (i % 64) }
