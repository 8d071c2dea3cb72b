// Package hint guesses what was probably meant where an object is wrong: unknown fields (unknown.go), values that no
// enum lists (enum.go), values of a wrong type (wrongtype.go) and missing required fields (required.go). Hints are
// returned beside upstream's texts and never change them.
//
// A Finder looks at the compiled schema (package plan) and at the document as it was sent. The hints of a document are
// deterministic, and their number and the work to find them are bounded. Read hint.go first, then near.go, which
// compares names.
package hint
