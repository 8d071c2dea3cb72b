package definition

import (
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/schema"
)

// RegisteredStatus returns the status of a CRD that counts as registered and established: its names are accepted, and
// objects are stored in its storage version and in the stored versions of its status. It also reports whether the CRD is
// being deleted.
func RegisteredStatus(crd *apiextensionsv1.CustomResourceDefinition) (
	status apiextensionsv1.CustomResourceDefinitionStatus, terminating bool) {
	status.AcceptedNames = crd.Spec.Names
	for _, t := range []apiextensionsv1.CustomResourceDefinitionConditionType{
		apiextensionsv1.NamesAccepted, apiextensionsv1.Established,
	} {
		status.Conditions = append(status.Conditions, apiextensionsv1.CustomResourceDefinitionCondition{
			Type: t, Status: apiextensionsv1.ConditionTrue,
		})
	}
	if s := schema.Storage(crd); s != nil {
		status.StoredVersions = []string{s.Name}
	}
	for _, name := range crd.Status.StoredVersions { // decoding adds the storage version to an empty list
		if !slices.Contains(status.StoredVersions, name) && schema.Find(crd, name) != nil {
			status.StoredVersions = append(status.StoredVersions, name)
		}
	}
	return status, IsTerminating(crd)
}

// IsTerminating reports whether an API server rejects creations for the CRD.
// (k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go, ServeHTTP)
func IsTerminating(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return !crd.DeletionTimestamp.IsZero() || apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Terminating)
}
