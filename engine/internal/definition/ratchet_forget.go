package definition

import "github.com/crdeval/crdeval/engine/internal/quirk"

// forget disables single ratchets in test builds, to prove that the conformance tests detect it. Other builds keep all
// ratchets.
func (r *ratchet) forget() {
	no, never := func() bool { return false }, func(string) bool { return false }
	if !quirk.On(quirk.RatchetNonStructural) {
		r.nonStructural = no
	}
	if !quirk.On(quirk.RatchetUnknownTypes) {
		r.AnyTypes = false
	}
	if !quirk.On(quirk.RatchetUnprunedDefaults) {
		r.unprunedDefaults = no
	}
	if !quirk.On(quirk.RatchetGranularSets) {
		r.GranularSets = false
	}
	if !quirk.On(quirk.RatchetOptionalListKeys) {
		r.OptionalKeys = false
	}
	if !quirk.On(quirk.RatchetMissingSchema) {
		r.noSchema = false
	}
	if !quirk.On(quirk.RatchetReviewVersions) {
		r.anyReviews = false
	}
	if !quirk.On(quirk.RatchetCABundle) {
		r.anyCABundle = false
	}
	if !quirk.On(quirk.RatchetRuleCost) {
		r.sameSchema = never
	}
	if !quirk.On(quirk.RatchetSelectableFields) {
		r.manyFields = never
	}
	if !quirk.On(quirk.RatchetRuleEnvironment) {
		r.rules = nil
	}
	if !quirk.On(quirk.RatchetMessageEnvironment) {
		r.messages = nil
	}
}
