// Package hint guesses what was meant where something is wrong with an object: by a field that is unknown (unknown.go), by a value that is none of an
// enum's (enum.go), by one of a wrong type (wrongtype.go), by a field that stands where a required one is missing (required.go). Hints are beside the words
// of the API server and never in them.
//
// It is asked only about objects with something wrong. The same object has the same hints, whatever the machine; and a document's hints have a
// bound in number and in the work that they take (Finder), however long and many its keys and the schema's are: beyond it there are none.
//
// It knows the compiled schema (package program) and the document as it was given. It does not find anything wrong itself: package admission
// does, and package engine asks. Read hint.go first, then near.go, which says what is near to what; package spelling has the indexes of names.
package hint
