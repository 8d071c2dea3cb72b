package definition

import (
	"fmt"
	"net/url"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/quirk"
)

const approvedAnnotation = apiextensionsv1.KubeAPIApprovedAnnotation

// approvalState is the state of the approval annotation, which CRDs in Kubernetes' own groups need.
type approvalState int

const (
	approvalInvalid approvalState = iota
	approved
	unapproved
	approvalMissing
)

// isProtected reports whether a group is reserved for Kubernetes.
// (k8s.io/apiextensions-apiserver/pkg/apihelpers, IsProtectedCommunityGroup)
func isProtected(group string) bool {
	for _, domain := range []string{"k8s.io", "kubernetes.io"} {
		if group == domain || strings.HasSuffix(group, "."+domain) {
			return true
		}
	}
	return false
}

// approvalOf returns the state of the approval annotation and its message.
// (k8s.io/apiextensions-apiserver/pkg/apihelpers, GetAPIApprovalState)
func approvalOf(meta *metav1.ObjectMeta) (approvalState, string) {
	const see = "see https://github.com/kubernetes/enhancements/pull/1111"
	value := meta.Annotations[approvedAnnotation]
	switch {
	case value == "":
		return approvalMissing, fmt.Sprintf("protected groups must have approval annotation %q, %s", approvedAnnotation, see)
	case strings.HasPrefix(value, "unapproved"):
		return unapproved, fmt.Sprintf("not approved: %q", value)
	}
	if u, err := url.ParseRequestURI(value); err == nil && u.Host != "" && u.Scheme != "" {
		return approved, "approved in " + value
	}
	return approvalInvalid, fmt.Sprintf(
		"protected groups must have approval annotation %q with either a URL or a reason starting with \"unapproved\", %s", approvedAnnotation, see)
}

// approval checks the approval annotation. old is nil for a creation. An update that keeps the state is never rejected.
// (validation.go, validateAPIApproval)
func approval(meta, old *metav1.ObjectMeta, group string) field.ErrorList {
	if !quirk.On(quirk.NamingConventions) || !isProtected(group) {
		return nil
	}
	state, text := approvalOf(meta)
	if old != nil && quirk.On(quirk.CRDUpdatesRatcheted) && quirk.On(quirk.RatchetApproval) {
		if before, _ := approvalOf(old); before == state {
			return nil
		}
	}
	path := field.NewPath("metadata", "annotations").Key(approvedAnnotation)
	switch state {
	case approvalMissing:
		return field.ErrorList{field.Required(path, text)}
	case approvalInvalid:
		return field.ErrorList{field.Invalid(path, meta.Annotations[approvedAnnotation], text)}
	}
	return nil
}

// ApprovalCondition returns the condition KubernetesAPIApprovalPolicyConformant, or nil if the CRD needs no approval.
// (k8s.io/apiextensions-apiserver/pkg/controller/apiapproval)
func ApprovalCondition(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinitionCondition {
	if !isProtected(crd.Spec.Group) {
		return nil
	}
	state, text := approvalOf(&crd.ObjectMeta)
	c := &apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.KubernetesAPIApprovalPolicyConformant, Status: apiextensionsv1.ConditionFalse, Message: text,
	}
	switch state {
	case approved:
		c.Status, c.Reason = apiextensionsv1.ConditionTrue, "ApprovedAnnotation"
	case unapproved:
		c.Reason = "UnapprovedAnnotation"
	case approvalMissing:
		c.Reason = "MissingAnnotation"
	default:
		c.Reason = "InvalidAnnotation"
	}
	return c
}
