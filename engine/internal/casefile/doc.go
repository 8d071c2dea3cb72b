// Package casefile reads the cases in engine/conformance/testdata/cases: CRDs and objects in a shorthand, with the
// answers of Kubernetes 1.37. The same cases run against the engine, gRPC, REST and the oracle, so all surfaces agree.
//
// To add a case, add a YAML item and let the oracle write its golden answers. README.md in that directory describes the
// format.
package casefile
