// Package interpret evaluates rules with cel-go over k8s.io/apiserver's own CEL values. It is the fallback for
// expressions that package closure does not compile or answers Unknown for: the texts of errors, the costs and the
// limits are upstream's.
//
// It differs from upstream in four ways that no answer shows:
//   - Evaluations can be interrupted and have bounds on memory. cel-go checks for interruption between the iterations
//     of comprehensions only and charges for a call after it ran, but one call may take hours or all memory. Here the
//     values of large objects poll a signal (celcheck.PolledSchemaOf), and costly functions go through a guard (guards.go).
//   - What depends on the order of Go's maps is always the same: objects have the order of the document (order.go).
//   - Expressions that compute values get only the parts of self that they read (value.go).
//   - Programs are compiled when they are first needed and cached within a bound of the process (programs.go).
package interpret
