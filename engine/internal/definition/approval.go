package definition

import (
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/quirk"
)

// approval checks the approval annotation. old is nil for a creation. An update that keeps the state is never rejected.
// (validation.go, validateAPIApproval)
func approval(meta, old *metav1.ObjectMeta, group string) field.ErrorList {
	if !quirk.On(quirk.NamingConventions) || !apihelpers.IsProtectedCommunityGroup(group) {
		return nil
	}
	state, text := apihelpers.GetAPIApprovalState(meta.Annotations)
	if old != nil && quirk.On(quirk.CRDUpdatesRatcheted) && quirk.On(quirk.RatchetApproval) {
		if before, _ := apihelpers.GetAPIApprovalState(old.Annotations); before == state {
			return nil
		}
	}
	path := field.NewPath("metadata", "annotations").Key(apiextensionsv1.KubeAPIApprovedAnnotation)
	switch state {
	case apihelpers.APIApprovalMissing:
		return field.ErrorList{field.Required(path, text)}
	case apihelpers.APIApprovalInvalid:
		return field.ErrorList{field.Invalid(path, meta.Annotations[apiextensionsv1.KubeAPIApprovedAnnotation], text)}
	}
	return nil
}

// approvalCondition returns the condition KubernetesAPIApprovalPolicyConformant, or nil if the CRD needs no approval.
// (k8s.io/apiextensions-apiserver/pkg/controller/apiapproval)
func approvalCondition(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinitionCondition {
	if !apihelpers.IsProtectedCommunityGroup(crd.Spec.Group) {
		return nil
	}
	state, text := apihelpers.GetAPIApprovalState(crd.Annotations)
	c := &apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.KubernetesAPIApprovalPolicyConformant, Status: apiextensionsv1.ConditionFalse, Message: text,
	}
	switch state {
	case apihelpers.APIApproved:
		c.Status, c.Reason = apiextensionsv1.ConditionTrue, "ApprovedAnnotation"
	case apihelpers.APIApprovalBypassed:
		c.Reason = "UnapprovedAnnotation"
	case apihelpers.APIApprovalMissing:
		c.Reason = "MissingAnnotation"
	default:
		c.Reason = "InvalidAnnotation"
	}
	return c
}
