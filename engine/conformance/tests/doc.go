// Package tests contains the tests that compare crdeval with Kubernetes' own code. They are in one package because each
// test binary that links that code takes seconds to link.
package tests
