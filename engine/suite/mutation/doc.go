// Package mutation tests the test suites of CRDs: it changes a rule or a bound of a CRD, and runs the suites with the
// changed CRD. A mutant is a CRD with one such change. A test kills a mutant if it passes with the CRD and fails with
// the mutant. Mutants that survive show what the suites do not test. docs/testing.md describes the mutants and the
// report.
//
// Run makes the mutants of all CRDs of the suites, runs the tests, and returns a Report. Coverage counts which parts of
// the schemas accepted writes use.
package mutation

// The files of this package: crd.go reads CRDs, keywords.go and cel.go make mutants, reach.go finds the tests that a
// mutant can affect, run.go runs them, and report.go and text.go contain the results.
