//go:build !quirks

package quirk

// On reports whether a behaviour is reproduced: always, in this build.
func On(Name) bool { return true }

// All reports whether every behaviour is reproduced: always, in this build.
func All() bool { return true }
