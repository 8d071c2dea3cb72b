// Package workspace models a workspace with CRDs and custom resources: which texts belong to it (source.go, walk.go),
// which files are not manifests (skip.go, kustomize.go), which manifests are in a text, as kubectl reads files (split.go,
// list.go), where each of them is in its text (manifest.go, range.go), what it is (class.go, builtin.go), and which CRDs
// apply to an object (choose.go, evaluate.go). All doors of crdeval use it. It does no I/O but that of sources.
package workspace
