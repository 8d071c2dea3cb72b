// Package definition implements what an API server does with CRDs: decoding of v1 and v1beta1 manifests, defaulting,
// conversion from v1beta1, validation of creations and updates, warnings, status reconciliation and reports.
//
// Creations and updates run the same checks (check.go). A ratchet lists the checks that an update skips (ratchet.go),
// and update.go has the checks for updates only. Settle reconciles the status of one CRD (status.go, naming.go). The
// caller decides which other CRDs to reconcile afterwards.
//
// Package engine/internal/schema checks schemas. This package adds the checks of the rest of a CRD, the order of the
// checks, and the checks of rules and defaults.
package definition
