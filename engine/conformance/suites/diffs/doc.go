// Package diffs compares generated pairs of CRDs with diff.Compare, and checks the result with upstream.
//
// The two schemas of a pair differ in form only (forms.go), or also in one planted incompatibility (plants.go). A pair of
// the first kind must be compatible. A pair of the second kind must be breaking with a counterexample, which upstream
// accepts with the old CRD and rejects with the new one. The generators know nothing of the code under test.
package diffs
