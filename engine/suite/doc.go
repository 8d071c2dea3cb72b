// Package suite tests CRDs without an API server. docs/testing.md describes the files of suites.
//
// # Run the tests of a file
//
// Read returns the suites of a file. Suite.Run runs their tests and reports a Result for each. It calls an Open function
// for the CRDs of a suite:
//
//	open := func(ctx context.Context, files []suite.CRDs) (suite.Evaluator, error) {
//		definitions, err := suite.Compile(ctx, files, engine.Options{})
//		return suite.NewEvaluator(definitions...), err
//	}
//
// Another Evaluator can be a client of a service. Suites in the format of OpenShift's projects are read as well. Package
// crdevaltest runs suites under go test, and tables of cases in Go.
//
// # Generate samples
//
// Generate returns objects that a CRD accepts, and objects that each violate one Constraint of its schema. Use them as
// examples, or as a start for tests. Every object was evaluated by the engine.
//
// # Test the tests
//
// Package mutation changes a CRD and runs its suites again. A change that no test notices shows what the suites do not
// test. It also counts which defaults, enum values and branches the writes of the tests use.
package suite

// The files of this package: document.go reads YAML with its positions, native.go and openshift.go read the two formats.
// run.go runs tests, evaluator.go evaluates their writes. expect.go and compare.go compare verdicts with what a test
// expects. generate.go makes samples.
