// Package sample generates random objects for the schema of one version of a CRD, edits them, repairs faults in them,
// and takes parts of them.
//
// Generated objects follow the schema, except for what a schema says only with rules or not. Package search repairs
// objects until they are valid. A Solver (package solve) repairs violations of rules, if there is one. Equal seeds give
// equal results.
//
// The values are chosen to find errors: bounds, empty strings, lists and objects, absent fields, many items, text
// outside ASCII, integers beyond 2^53, floats.
//
// Read generator.go first. node.go prepares the schema, candidates.go has the values at its limits, and repair.go
// changes a value that is at fault.
package sample
