// Package assist answers what editors ask about a text with custom resources or CRDs, in YAML or JSON: the completions
// at an offset, the field at an offset, and the symbols. The language server (server/editor/lsp) and the playground
// (server/editor/playground/page) both call it. Offsets count bytes. The package does no I/O.
//
// outline.go reads the structure of a text that can be incomplete. cursor.go finds the object and the schema at an
// offset, and place.go where text is completed; the answers in hover.go, complete.go and symbols.go are based on them.
// schema.go describes the fields of a schema. crd.yaml describes the fields of CRDs.
package assist
