package kubeserver

import (
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/engine/internal/definition"
)

// CRDStatus is a CRD with its status, for ReconcileStatus. Its fields are:
//
//   - Name string: the name of the CRD, crontabs.stable.example.com.
//   - Created time.Time: when it was created, which decides which of several CRDs gets a name.
//   - Desired DesiredStatus: what its manifest determines, see DesiredStatusOf.
//   - Status apiextensionsv1.CustomResourceDefinitionStatus: the status, which ReconcileStatus changes. For a new
//     CRD it is AddStoredVersion of the zero status.
//   - Fixed bool: the status does not change, and other CRDs cannot have its accepted names.
type CRDStatus = definition.CRDStatus

// DesiredStatus is the part of a CRD's status that its manifest determines. DesiredStatusOf returns it. Stored as JSON
// with the manifest, it allows ReconcileStatus to work without decoding manifests. Its fields are:
//
//   - Group, StorageVersion string: the API group, and the version in which objects are stored.
//   - Names apiextensionsv1.CustomResourceDefinitionNames: the names in the spec.
//   - InvalidCABundle bool: the CA bundle of the conversion webhook has no certificate, so the CRD is not established.
//   - NonStructural, Approval *apiextensionsv1.CustomResourceDefinitionCondition: the conditions NonStructuralSchema
//     and KubernetesAPIApprovalPolicyConformant without times, nil if the CRD does not have them.
//
// AddStoredVersion(status) returns a copy of a status with the storage version in its storedVersions.
type DesiredStatus = definition.DesiredStatus

// DesiredStatusOf returns the DesiredStatus of a compiled CRD. The caller must not modify it.
func DesiredStatusOf(d *engine.Definition) DesiredStatus { return compiled.Of(d).Desired }

// HeldNames returns the names that only one CRD of a group can hold: as a resource (plural, singular, short names), and
// as a kind (kind, listKind). Unset names are "".
func HeldNames(n *apiextensionsv1.CustomResourceDefinitionNames) (resources, kinds []string) {
	return definition.HeldNames(n)
}

// ReconcileStatus updates the status of the CRDs of one group as an API server's controllers do: names are accepted or
// conflict, CRDs with accepted names are established, and conditions are set. It returns the sorted names of the CRDs
// whose status changed.
//
// Call it after the CRD named first was created or changed, or with "" after a CRD was deleted. Controllers process
// CRDs as events arrive; ReconcileStatus processes first before the others, which are ordered by age and name, until
// nothing changes.
//
// The status depends on the previous status. Accepted names stay accepted until the CRD asks for others that are free,
// and an established CRD stays established. now becomes the time of changed conditions, in seconds. Slices in the given
// statuses are not modified. As in Kubernetes 1.37, observedGeneration does not change: no controller sets it.
// (k8s.io/apiextensions-apiserver/pkg/controller/{status,establish,nonstructuralschema,apiapproval})
func ReconcileStatus(group []CRDStatus, first string, now time.Time) (changed []string) {
	return definition.ReconcileStatus(group, first, now)
}
