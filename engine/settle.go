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

// Standing is what a CRD's manifest says about its status. Whoever keeps CRDs keeps it with their manifests: with it, the status of a whole group
// is settled without decoding anything.
type DesiredStatus struct {
	// Group is the API group, within which names are unique.
	Group string `json:"group"`
	// Names are those that the CRD asks for.
	Names Names `json:"names"`
	// StorageVersion is the version that objects are stored at.
	StorageVersion string `json:"storageVersion"`
	// InvalidCABundle: the CA bundle of its conversion webhook holds no certificate, which keeps the CRD from being established.
	InvalidCABundle bool `json:"invalidCABundle,omitempty"`
	// NonStructural and Approval are the conditions NonStructuralSchema and KubernetesAPIApprovalPolicyConformant, without times; nil for a CRD
	// that has none.
	NonStructural *Condition `json:"nonStructural,omitempty"`
	Approval      *Condition `json:"approval,omitempty"`
}

// standingOf returns the standing of an accepted CRD.
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

// Stored returns a status after the CRD moved to the standing's storage version: storedVersions has that version too. The zero Status
// is that of a CRD that is new. status is not changed.
// (k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition/strategy.go, PrepareForCreate, PrepareForUpdate)
func (s DesiredStatus) AddStoredVersion(status Status) Status {
	if v := s.StorageVersion; v != "" && !slices.Contains(status.StoredVersions, v) {
		status.StoredVersions = append(slices.Clip(status.StoredVersions), v)
	}
	return status
}

// Claimant is a CRD of one group, beside the others with which it shares the group's names.
type CRDStatus struct {
	// Name is the CRD's: crontabs.stable.example.com.
	Name string
	// Created decides who comes first of several that wait for a name.
	Created time.Time
	// Standing is what its manifest says.
	Desired DesiredStatus
	// Status is what it has come to; Settle changes it.
	Status Status
}

// Settle brings the status of the CRDs of one group to what an API server's controllers leave after the CRD first was created or changed, or,
// with "", after one was deleted: names are accepted or conflict, CRDs whose names are accepted get established, conditions are set. It
// returns the names of those whose status changed, in the order of the alphabet. Controllers work one after the other, as events arrive; here first
// comes first, then all others by age and name, until nothing changes.
//
// Status is history. Accepted names stay accepted until the CRD asks for others that are free, and a CRD that is established stays so. Times are
// those of now, in seconds; slices that the given statuses hold are not written to. observedGeneration stays as it is: the fields
// exist in Kubernetes 1.37, but no controller of its fills them in, so they are absent from the status of every CRD.
// (k8s.io/apiextensions-apiserver/pkg/controller/{status,establish,nonstructuralschema,apiapproval})
func ReconcileStatus(group []CRDStatus, first string, now time.Time) (changed []string) {
	order := make([]*CRDStatus, len(group))
	for i := range group {
		order[i] = &group[i]
	}
	slices.SortStableFunc(order, func(a, b *CRDStatus) int {
		if c := cmp.Compare(late(a, first), late(b, first)); c != 0 {
			return c
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
			if definition.Settle(&c.Status, c.Desired.wants(), taken, now) {
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

// late is 0 for the CRD that comes first.
func late(c *CRDStatus, first string) int {
	if c.Name == first {
		return 0
	}
	return 1
}

func (s *DesiredStatus) wants() definition.Wants {
	return definition.Wants{Names: &s.Names, InvalidCABundle: s.InvalidCABundle, NonStructural: s.NonStructural, Approval: s.Approval}
}
