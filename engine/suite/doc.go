// Package suite reads test suites of CRDs and runs their tests. docs/testing.md describes the format. Suites in the
// format of OpenShift's projects are read as well.
//
// Read reads the suites of a file, and Suite.Run runs their tests with an Evaluator: that of NewEvaluator, or a client
// of a service. document.go reads YAML with its positions, native.go and openshift.go read the two formats. expect.go
// and compare.go compare answers with what a test expects.
package suite
