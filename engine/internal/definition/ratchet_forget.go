package definition

import "github.com/crdeval/crdeval/engine/internal/quirk"

// forget switches off what a test build wants forgotten of what updates leave out, each for itself, so that conformance can be seen to notice. In other builds it
// does nothing.
func (r *ratchet) forget() {
	no, never := func() bool { return false }, func(string) bool { return false }
	if !quirk.On(101) {
		r.nonStructural = no
	}
	if !quirk.On(102) {
		r.AnyTypes = false
	}
	if !quirk.On(103) {
		r.unprunedDefaults = no
	}
	if !quirk.On(104) {
		r.GranularSets = false
	}
	if !quirk.On(105) {
		r.OptionalKeys = false
	}
	if !quirk.On(106) {
		r.noSchema = false
	}
	if !quirk.On(107) {
		r.anyReviews = false
	}
	if !quirk.On(108) {
		r.anyCABundle = false
	}
	if !quirk.On(109) {
		r.sameSchema = never
	}
	if !quirk.On(110) {
		r.manyFields = never
	}
	if !quirk.On(111) {
		r.rules = nil
	}
	if !quirk.On(112) {
		r.messages = nil
	}
}
