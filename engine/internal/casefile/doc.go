// Package casefile reads the cases in engine/conformance/testdata/cases: CRDs and objects in a shorthand, each with the
// answer of the reference, Kubernetes 1.37. One case file runs over every surface: the engine's own tests, gRPC and
// REST, and the oracle, so that surfaces cannot drift apart.
//
// Adding a case is adding a YAML item, and its golden answers from the oracle. README.md beside the files has the
// format.
package casefile
