// Package violation knows what a finding is: the reference's own error beside the places, in the object and in the schema, that
// its text only hints at. It knows which findings stop what comes after.
//
// It does not find anything: the walks of engine/internal/plan do, and the rules of engine/internal/definition, metadata and
// admission. Texts are those of k8s.io/apimachinery/pkg/util/validation/field by construction, since a Violation holds its Error.
package violation
