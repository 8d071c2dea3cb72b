//go:build quirks

package quirk

import "sync/atomic"

// Count bounds the numbers of behaviours: 0 <= n < Count.
const Count = 128

var (
	off       [Count]atomic.Bool
	forgotten atomic.Int32
)

// On reports whether behaviour n of the reference is reproduced: unless Off was called for it.
func On(n int) bool { return n < 0 || n >= Count || !off[n].Load() }

// All reports whether every behaviour is reproduced. The accept walk, which has no places of its own to ask, steps aside
// while it is not.
func All() bool { return forgotten.Load() == 0 }

// Off makes the engine forget behaviour n until Reset. Numbers out of range are ignored.
func Off(n int) {
	if n >= 0 && n < Count {
		if !off[n].Swap(true) {
			forgotten.Add(1)
		}
	}
}

// Reset switches all behaviours on again.
func Reset() {
	for i := range off {
		if off[i].Swap(false) {
			forgotten.Add(-1)
		}
	}
}
