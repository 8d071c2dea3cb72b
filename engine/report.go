package engine

import (
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/engine/internal/definition"
)

// Report is the API server's answer to the creation or update of a CRD, with estimates of its rules.
type Report struct {
	// Name, Group, Kind and Plural are those of the CRD, as far as it has them.
	Name, Group, Kind, Plural string
	// Update reports whether the CRD was judged as an update, see Options.Existing.
	Update bool
	// Generation is metadata.generation after the write: 1 for a new CRD; an update that changes more than metadata
	// increments it. It is meaningless for a rejected CRD.
	Generation int64
	// Accepted reports whether an API server would accept the CRD.
	Accepted bool
	// Rejection is the API server's answer to a CRD that is not accepted, nil otherwise.
	Rejection *Rejection
	// Violations are the reasons of the rejection, at least one, with positions in the manifest. They are of TypeDecode if
	// the manifest cannot be decoded as a CRD, for example because of a number instead of a string, and of
	// TypeUnknownField or TypeDuplicateField if strict validation rejects it.
	Violations []Violation
	// Next are, if strict validation rejects the CRD, the violations that remain without the unknown and duplicate fields.
	Next []Violation
	// Warnings are those of the API server's Warning headers, and notes of crdeval. A rejected CRD has all of them as well,
	// unlike on an API server.
	Warnings []Warning
	// KubernetesWarnings are the texts of those Warnings that an API server sends. If it rejects the CRD, these are only the warnings
	// of decoding: unknown and duplicate fields.
	KubernetesWarnings []string
	// HasRules reports whether any version has x-kubernetes-validations.
	HasRules bool
	// LowestKubernetes is the oldest of KubernetesVersions that has all formats and compiles all rules in every version of
	// the CRD, except rules that no Kubernetes compiles. LowestKubernetesReason says what the version before lacks, "" for
	// nothing.
	LowestKubernetes, LowestKubernetesReason string
	// Versions are the CRD's versions by priority.
	Versions []VersionInfo

	conversion *compiled.Conversion
}

// Status returns the metav1.Status of a CRD that is not accepted, as JSON, with the violations as causes. It is nil for an
// accepted CRD.
func (r *Report) Status() ([]byte, error) {
	if r.Rejection == nil {
		return nil, nil
	}
	answer := *r.Rejection
	answer.Message = strings.ToValidUTF8(answer.Message, "\ufffd")
	if r.Rejection.Reason == string(metav1.StatusReasonInvalid) {
		answer.Details = &metav1.StatusDetails{Name: r.Name, Group: apiextensionsv1.GroupName, Kind: "CustomResourceDefinition"}
		for i := range r.Violations {
			v := &r.Violations[i]
			answer.Details.Causes = append(answer.Details.Causes, metav1.StatusCause{
				Type: metav1.CauseType(v.Type), Message: strings.ToValidUTF8(v.Message, "\ufffd"), Field: v.Field,
			})
		}
	}
	return answer.Status()
}

// VersionInfo describes one version of a CRD: Name, Served, Storage, Priority in Kubernetes' order, Index in
// spec.versions, Deprecated with DeprecationWarning, HasRules, HasStatus and HasScale. In a Report, it also has
// LowestKubernetes with LowestKubernetesReason, Rules, EstimatedCost and CostLimit.
type VersionInfo = definition.VersionInfo
