//go:build quirks

package quirk

import "sync/atomic"

var off atomic.Value // of a Name, "" for none

func init() { Reset() }

// On reports whether a behaviour is reproduced.
func On(n Name) bool { return off.Load() != n }

// All reports whether every behaviour is reproduced. The accept walk of package plan is not used while one is not.
func All() bool { return off.Load() == Name("") }

// Off switches one behaviour off until Reset, and all others on.
func Off(n Name) { off.Store(n) }

// Reset switches all behaviours on again.
func Reset() { off.Store(Name("")) }
