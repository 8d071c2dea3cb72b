// Package definition knows what an API server does with a CRD itself: decoding a manifest of either API version,
// defaults, the conversion from v1beta1, everything that is checked when a CRD is created or updated, the warnings that
// come with the answer, and what the controllers make of its status.
//
// Creations and updates run the same checks (check.go); a ratchet says what an update leaves out (ratchet.go), and
// update.go adds what only an update has to obey. Status is settled one CRD at a time (status.go, naming.go); who has
// to be settled again is the caller's to know.
//
// The rules for schemas are in engine/internal/schema. This package adds the CRD around them, the order of the checks,
// and the checks that need a compiled program: defaults must be pruned and valid.
package definition
