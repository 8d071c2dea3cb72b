// Package lsp is a language server for custom resources and their CRDs, in YAML and JSON, for crdeval lsp. It speaks
// the Language Server Protocol 3.17.
//
// server.go has the connection and the order of messages; stream.go reads and writes messages. workspace.go knows the
// CRDs of the files. findings.go evaluates the documents of a file with the engine, and diagnose.go makes diagnostics
// of the results. stored.go reads the old objects from git. hover.go, complete.go and symbols.go return the answers of
// package editor, and fix.go the fixes of package diagnosis. text.go maps offsets to positions.
package lsp
