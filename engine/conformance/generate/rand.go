package generate

import (
	"hash/fnv"
	"math/rand/v2"
)

// Rand is a source of random choices.
type Rand struct{ *rand.Rand }

// New returns the source of a generator's n-th case.
func New(generator string, seed, n uint64) Rand {
	h := fnv.New64a()
	h.Write([]byte(generator))
	return Rand{rand.New(rand.NewPCG(seed^h.Sum64(), n))}
}

// Chance is true in percent of 100 cases.
func (r Rand) Chance(percent int) bool { return r.IntN(100) < percent }

// Between returns an integer from lo to hi, both included.
func (r Rand) Between(lo, hi int) int { return lo + r.IntN(hi-lo+1) }

// Pick selects an element.
func Pick[T any](r Rand, from []T) T { return from[r.IntN(len(from))] }

// weighted selects an index by weight.
func (r Rand) weighted(weights ...int) int {
	sum := 0
	for _, w := range weights {
		sum += w
	}
	n := r.IntN(sum)
	for i, w := range weights {
		if n -= w; n < 0 {
			return i
		}
	}
	return len(weights) - 1
}
