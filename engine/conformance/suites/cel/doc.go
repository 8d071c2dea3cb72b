// Package cel compares CEL expressions. It generates schemas and rules over their types, evaluates them with upstream's
// rule compiler and validator and with the engine's, and reports differences in verdict, text, estimate or cost.
//
// Everything is a pure function of a seed, as in package generate. An expression is generated from the types of the
// schema and the functions of upstream's environment (which are enumerated, not listed here), so that nearly all
// compile. Errors are inserted on purpose.
package cel
