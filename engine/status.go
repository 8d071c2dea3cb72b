package engine

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/definition"
)

// DesiredStatus is the part of a CRD's status that its manifest determines. Stored with the manifest, it allows
// ReconcileStatus to work without decoding manifests.
type DesiredStatus struct {
	// Group is the API group, within which names are unique.
	Group string `json:"group"`
	// Names are the names in the spec.
	Names Names `json:"names"`
	// StorageVersion is the version in which objects are stored.
	StorageVersion string `json:"storageVersion"`
	// InvalidCABundle reports whether the CA bundle of the conversion webhook has no certificate, so that the CRD
	// cannot be established.
	InvalidCABundle bool `json:"invalidCABundle,omitempty"`
	// NonStructural and Approval are the conditions NonStructuralSchema and KubernetesAPIApprovalPolicyConformant
	// without times, nil if the CRD does not have them.
	NonStructural *Condition `json:"nonStructural,omitempty"`
	Approval      *Condition `json:"approval,omitempty"`
}

// desiredStatus returns the DesiredStatus of an accepted CRD.
func desiredStatus(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, storage string, o Options) (DesiredStatus, error) {
	s := DesiredStatus{
		Group: crd.Spec.Group, Names: crd.Spec.Names, StorageVersion: storage,
		InvalidCABundle: definition.InvalidCABundle(crd), Approval: definition.ApprovalCondition(crd),
	}
	if len(s.Names.ShortNames) == 0 {
		s.Names.ShortNames = nil
	}
	if len(s.Names.Categories) == 0 {
		s.Names.Categories = nil
	}
	var err error
	s.NonStructural, err = definition.NonStructuralCondition(ctx, crd, o.Limits)
	return s, err
}

// AddStoredVersion returns a status with the storage version in its storedVersions. Pass the zero Status for a new CRD.
// status is not modified.
// (k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition/strategy.go, PrepareForCreate, PrepareForUpdate)
func (s DesiredStatus) AddStoredVersion(status Status) Status {
	if v := s.StorageVersion; v != "" && !slices.Contains(status.StoredVersions, v) {
		status.StoredVersions = append(slices.Clip(status.StoredVersions), v)
	}
	return status
}

// CRDStatus is a CRD with its status.
type CRDStatus struct {
	// Name is the name of the CRD: crontabs.stable.example.com.
	Name string
	// Created decides which of several CRDs gets a name.
	Created time.Time
	// Desired is Definition.DesiredStatus.
	Desired DesiredStatus
	// Status is the status. ReconcileStatus changes it.
	Status Status
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
	order := make([]*CRDStatus, len(group))
	for i := range group {
		order[i] = &group[i]
	}
	slices.SortStableFunc(order, func(a, b *CRDStatus) int {
		if isFirst := a.Name == first; isFirst != (b.Name == first) {
			if isFirst {
				return -1
			}
			return 1
		}
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.Name, b.Name))
	})
	taken := definition.Claims{}
	for _, c := range order {
		taken.Add(&c.Status.AcceptedNames)
	}
	touched := map[string]bool{}
	for again := true; again; {
		again = false
		for _, c := range order {
			if definition.Reconcile(&c.Status, c.Desired.wants(), taken, now) {
				touched[c.Name], again = true, true
			}
		}
	}
	for name := range touched {
		changed = append(changed, name)
	}
	slices.Sort(changed)
	return changed
}

func (s *DesiredStatus) wants() definition.Wants {
	return definition.Wants{Names: &s.Names, InvalidCABundle: s.InvalidCABundle, NonStructural: s.NonStructural, Approval: s.Approval}
}
