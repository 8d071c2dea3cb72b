// Package scale compares the scale subresource and patches: the Scale of an object, the result of a Scale or a patch,
// and the answers to invalid ones.
//
// Upstream's side is the API server's own handlers with a storage in memory (package oracle). The CRDs, objects, Scales
// and patches are generated here (generate.go, patches.go), because those of other suites seldom touch the paths of a
// scale.
package scale
