// Package format knows the string formats of custom resource schemas: which names exist, which of them a schema of a given type
// keeps in a given Kubernetes version, and whether a text satisfies one.
//
// The meaning of a format is that of k8s.io/kube-openapi/pkg/validation/strfmt, oddities included; that package is the authority
// and is asked whenever a text is not plainly good or plainly bad. The quick answers given here exist because the registry of
// strfmt holds one process-wide lock while it validates and because most of its validators allocate. fuzz_test.go holds every
// quick answer against the registry.
//
// Numeric formats (int32, int64, float, double) are ranges rather than texts; they are listed by Supported and enforced by the
// walks in engine/internal/plan.
package format
