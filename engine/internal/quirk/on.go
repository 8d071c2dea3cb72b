//go:build !quirks

package quirk

// On reports whether behaviour n of the reference is reproduced: always, in this build.
func On(int) bool { return true }

// All reports whether every behaviour of the reference is reproduced: always, in this build.
func All() bool { return true }
