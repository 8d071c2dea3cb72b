// Package engine answers what a Kubernetes API server would answer about a CustomResourceDefinition and its objects:
// whether the CRD is acceptable, whether an object is valid, what would be pruned, defaulted and converted.
//
// Compile turns a manifest into a Definition, once; a Definition is immutable and evaluates any number of objects from
// any number of goroutines. The package does no I/O, knows neither gRPC nor OpenTelemetry, and never panics on bad input.
// The reference is Kubernetes 1.37: verdicts, findings and their wording, and resulting objects are upstream's.
//
// What an API server would answer about an object, whatever its HTTP code, is a result (Verdict.Refusal, Report.Violations).
// What could not be evaluated is an *Error with a Reason, and never reads as "passed".
//
// Documents go in and come out as bytes, so that no number loses a digit. The tree they are parsed into is in internal/value,
// the findings are in engine/internal/violation, the order of all steps is in engine/internal/admission; docs/architecture.md tells it all
// on a page.
package engine
