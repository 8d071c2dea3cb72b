// Package cel compares expressions: it generates schemas, rules in the expression language of their types and data,
// puts them before upstream's rule compiler and validator and before the engine's, and says where verdict, text,
// estimate or cost differ.
//
// Everything is a pure function of a seed, as in package generate. An expression is generated from the types that the
// schema declares and from the functions that upstream's environment has (they are enumerated, not listed here), so
// that nearly all compile; flaws are put in on purpose.
package cel
