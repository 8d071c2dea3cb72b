// Package closure compiles type-checked CEL expressions to Go closures over the document tree, with the exact cost that cel-go would count.
//
// It answers the clean case alone: a value and its cost, no error anywhere, below the limit, in time. Whatever else happens it says that it does
// not know, and package rule replays the expression on cel-go, which has the text and the cost of every error. Read type.go first.
package closure
