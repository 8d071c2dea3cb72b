// Package workspace reads manifests. It says which files contain manifests, and splits a text into manifests as kubectl
// reads files: its YAML or JSON documents (split.go), and the items of lists (list.go). A Manifest knows its place in the
// text (manifest.go, range.go). The package does not validate manifests.
package workspace
