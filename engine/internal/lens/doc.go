// Package lens converts objects between the versions of a CRD by declared rules.
//
// A File (file.go) has rules for pairs of versions. Compile checks them against the schemas of both versions and makes
// one program for each direction. A program is a mapping of paths and not a sequence of steps: all paths refer to the
// unchanged object. Paths that both versions have carry themselves, unless a rule names them. Each field of each version
// must be carried, read by an expression, kept in an annotation, or dropped by name.
//
// read.go reads a file. compile.go checks its pairs, named.go records the paths that its rules name, and walk.go builds the
// programs, following the schemas of both versions side by side. narrow.go compares the schemas of a carried value; what
// it finds are preconditions. set.go describes the result. convert.go runs a program on a tree, in place. list.go,
// values.go, stash.go and expression.go have one kind of rule each. annotation.go reads and writes what stashes keep.
// normal.go removes what a conversion loses by design, so that round trips can be compared.
package lens
