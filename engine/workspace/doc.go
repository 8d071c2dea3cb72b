// Package workspace models a workspace with CRDs and custom resources. It determines:
//
//   - which texts belong to the workspace: source.go, walk.go
//   - which files are not manifests: skip.go, kustomize.go, placeholder.go
//   - which manifests a text contains, as kubectl reads files: split.go, list.go
//   - where each manifest is in its text: manifest.go, range.go
//   - what a manifest is: class.go, builtin.go
//   - which CRDs apply to an object: choose.go, evaluate.go
//
// The commands, the language server, the playground and the REST gateway use it. It does no I/O except reading sources.
package workspace
