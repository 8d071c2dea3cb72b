// Package scale compares the scale subresource and patches: what is shown of an object, what a Scale or a patch makes
// of it, and what is answered to one that is wrong.
//
// Upstream's side is the API server's own handlers over a storage in memory (package oracle). The definitions, objects,
// Scales and patches are made here (generate.go, patches.go), since those of the other suites seldom come near a path
// of a scale.
package scale
