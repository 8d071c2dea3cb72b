// Package format validates the string formats of custom resource schemas. It knows which formats exist, and which of
// them a schema of a given type keeps in a given Kubernetes version.
//
// k8s.io/kube-openapi/pkg/validation/strfmt defines the formats and decides all strings that are not plainly valid or
// invalid. The quick checks here exist because strfmt's registry holds one process-wide lock while it validates, and
// because most of its validators allocate. fuzz_test.go compares every quick check with the registry.
//
// Numeric formats (int32, int64, float, double) are ranges: Supported lists them, and package plan enforces them.
package format
