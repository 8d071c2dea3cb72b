package sample

import "math/rand/v2"

// Random is a source of random choices.
type Random struct{ *rand.Rand }

// NewRandom returns the source of the n-th object of a seed.
func NewRandom(seed, n uint64) Random { return Random{rand.New(rand.NewPCG(seed, n))} }

// chance is true in percent of 100 cases.
func (r Random) chance(percent int) bool { return r.IntN(100) < percent }

// between returns an integer from lo to hi, both included.
func (r Random) between(lo, hi int) int {
	if hi <= lo {
		return lo
	}
	return lo + r.IntN(hi-lo+1)
}

// pick selects an element.
func pick[T any](r Random, from []T) T { return from[r.IntN(len(from))] }
