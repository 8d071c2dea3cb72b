// Package upstreamtests reads the tables of upstream's own tests: expressions, schemas, objects, CRDs, expected costs.
//
// Nothing of upstream is copied into this repository. When a test needs a table, this package extracts the declaration
// of the table, and of everything that it refers to, from the test file in the module cache. It adds a main function
// that prints the rows as JSON, and runs the program. Groups turns the tables of CRDs into cases.
package upstreamtests
