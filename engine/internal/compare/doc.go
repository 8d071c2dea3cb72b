// Package compare says what changed between two CRDs, and what each change means for objects that are in storage, for clients that
// write and for clients that read.
//
// A change is Compatible for stored objects only if every object that was valid and stored under the old schema is valid and stays as it
// is under the new one; that is what the property test of package engine holds it to. What nobody can decide from two schemas (whether
// another pattern matches all that the old one matched) needs care.
//
// The package compares CRDs as they stand: whether the new one is acceptable at all is package definition's business.
package compare
