// Package engine evaluates CustomResourceDefinitions and their objects as a Kubernetes API server does: whether a CRD
// is accepted, whether an object is valid, and what is pruned, defaulted and converted. The reference is Kubernetes
// 1.37. Verdicts, violations with their texts, and resulting objects are upstream's.
//
// Compile turns a manifest into a Definition. A Definition is immutable and safe for concurrent use: compile it once
// and evaluate any number of objects. The package does no I/O; the webhook of a CRD with that conversion strategy is
// called through Options.Converter.
//
// What an API server would answer about an object, whatever the HTTP code, is a result: see Verdict.Rejection and
// Report.Rejection. If something could not be evaluated, the function returns an *Error with a Reason. Functions that
// return an error do not panic.
//
// Documents go in and come out as bytes, so no number loses a digit. docs/architecture.md in the repository describes
// the internals.
package engine
