// Package sample generates random objects for the schema of one version of a CRD, edits them, takes parts of them, and
// shrinks them.
//
// Generated objects follow the schema, except for what a schema says only with rules or not. Generator.Valid therefore
// takes a judge, and repairs the fields that the judge finds invalid. A Solver (package solve) repairs violations of
// rules, if there is one. Equal seeds give equal objects.
//
// The values are chosen to find errors: bounds, empty strings, lists and objects, absent fields, many items, text
// outside ASCII, integers beyond 2^53, floats.
//
// Read generator.go first. node.go prepares the schema, repair.go has Valid.
package sample
