//go:build quirks

package quirk

import "sync/atomic"

// Count bounds the numbers of behaviours: 0 <= n < Count.
const Count = 128

var off [Count]atomic.Bool

// On reports whether behaviour n of the reference is reproduced: unless Off was called for it.
func On(n int) bool { return n < 0 || n >= Count || !off[n].Load() }

// Off makes the engine forget behaviour n until Reset. Numbers out of range are ignored.
func Off(n int) {
	if n >= 0 && n < Count {
		off[n].Store(true)
	}
}

// Reset switches all behaviours on again.
func Reset() {
	for i := range off {
		off[i].Store(false)
	}
}
