// Package lens converts objects between the versions of a CRD by declared rules.
//
// A File (file.go) has rules for pairs of versions. Compile checks them against the schemas of both versions and makes
// one conversion for each direction. The paths of all rules refer to the unchanged object, so rules have no order. Fields
// at the same path in both versions are carried (copied), unless a rule names them. Each field of each version must be
// carried, read by an expression, stashed in an annotation, or dropped.
//
// read.go reads a file. compile.go checks its pairs, and named.go records the paths that its rules name. walk.go
// builds the conversions from the schemas of both versions. narrow.go compares the schemas of a carried value, and
// returns preconditions. set.go describes the result. convert.go runs a conversion on a tree, in place. list.go,
// values.go, stash.go and expression.go each contain one kind of rule. annotation.go reads and writes stashed values.
// normal.go removes what a conversion loses by design, so that round trips can be compared.
package lens
