package definition

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// DesiredStatus is the part of a CRD's status that its manifest determines. Stored with the manifest, it allows
// ReconcileStatus to work without decoding manifests.
type DesiredStatus struct {
	// Group is the API group, within which names are unique.
	Group string `json:"group"`
	// Names are the names in the spec.
	Names apiextensionsv1.CustomResourceDefinitionNames `json:"names"`
	// StorageVersion is the version in which objects are stored.
	StorageVersion string `json:"storageVersion"`
	// InvalidCABundle reports whether the CA bundle of the conversion webhook has no certificate, so that the CRD
	// cannot be established.
	InvalidCABundle bool `json:"invalidCABundle,omitempty"`
	// NonStructural and Approval are the conditions NonStructuralSchema and KubernetesAPIApprovalPolicyConformant
	// without times, nil if the CRD does not have them.
	NonStructural *apiextensionsv1.CustomResourceDefinitionCondition `json:"nonStructural,omitempty"`
	Approval      *apiextensionsv1.CustomResourceDefinitionCondition `json:"approval,omitempty"`
}

// NewDesiredStatus returns the DesiredStatus of an accepted CRD. The error is a *tree.LimitError if the errors of
// NonStructural exceed the limits.
func NewDesiredStatus(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, l tree.Limits) (s DesiredStatus, err error) {
	s = DesiredStatus{
		Group: crd.Spec.Group, Names: crd.Spec.Names, InvalidCABundle: invalidCABundle(crd), Approval: approvalCondition(crd),
	}
	if v := schema.Storage(crd); v != nil {
		s.StorageVersion = v.Name
	}
	if len(s.Names.ShortNames) == 0 {
		s.Names.ShortNames = nil
	}
	if len(s.Names.Categories) == 0 {
		s.Names.Categories = nil
	}
	s.NonStructural, err = nonStructuralCondition(ctx, crd, l)
	return s, err
}

// AddStoredVersion returns a status with the storage version in its storedVersions. Pass the zero Status for a new CRD.
// status is not modified.
func (s DesiredStatus) AddStoredVersion(
	status apiextensionsv1.CustomResourceDefinitionStatus,
) apiextensionsv1.CustomResourceDefinitionStatus {
	if s.StorageVersion != "" {
		status.StoredVersions = withStored(status.StoredVersions, s.StorageVersion)
	}
	return status
}

// withStored appends the storage version to the stored versions, unless it is among them.
// (k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition/strategy.go, PrepareForCreate,
// PrepareForUpdate)
func withStored(before []string, storage string) []string {
	if slices.Contains(before, storage) {
		return before
	}
	return append(slices.Clip(before), storage)
}

// CRDStatus is a CRD with its status.
type CRDStatus struct {
	// Name is the name of the CRD: crontabs.stable.example.com.
	Name string
	// Created decides which of several CRDs gets a name.
	Created time.Time
	// Desired is what its manifest determines.
	Desired DesiredStatus
	// Status is the status. ReconcileStatus changes it unless Fixed is set.
	Status apiextensionsv1.CustomResourceDefinitionStatus
	// Fixed says that the status does not change: others cannot have its accepted names.
	Fixed bool
}

// ReconcileStatus updates the status of the CRDs of one group, see package engine.
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
	taken := claims{resources: map[string]int{}, kinds: map[string]int{}}
	for _, c := range order {
		taken.count(&c.Status.AcceptedNames, 1)
	}
	touched := map[string]bool{}
	for again := true; again; {
		again = false
		for _, c := range order {
			if !c.Fixed && c.reconcile(taken, now) {
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

// reconcile updates the status as the API server's controllers do: approval, structural schema, names, then
// establishment. taken has the accepted names of all CRDs in the group, including this one, and is updated. reconcile
// returns whether the status changed; other CRDs of the group may then need reconciliation too. It copies the status's
// slices before it changes them.
func (c *CRDStatus) reconcile(taken claims, now time.Time) bool {
	s := statusWriter{status: &c.Status, now: metav1.NewTime(now).Rfc3339Copy()}
	if c.Desired.Approval != nil { // never removed, because groups are immutable
		s.set(*c.Desired.Approval)
	}
	if c.Desired.NonStructural != nil {
		s.set(*c.Desired.NonStructural)
	} else {
		s.remove(apiextensionsv1.NonStructuralSchema)
	}
	s.names(&c.Desired.Names, taken)
	s.establish(c.Desired.InvalidCABundle)
	return s.changed
}

// statusWriter changes a status as the controllers do.
type statusWriter struct {
	status  *apiextensionsv1.CustomResourceDefinitionStatus
	now     metav1.Time
	changed bool
	owned   bool // status.Conditions is a copy
}

// condition returns the condition of a type, or nil.
func (s *statusWriter) condition(t apiextensionsv1.CustomResourceDefinitionConditionType) *apiextensionsv1.CustomResourceDefinitionCondition {
	return apihelpers.FindCRDCondition(&apiextensionsv1.CustomResourceDefinition{Status: *s.status}, t)
}

// isTrue reports whether a status has the condition with status True.
func isTrue(status *apiextensionsv1.CustomResourceDefinitionStatus, t apiextensionsv1.CustomResourceDefinitionConditionType) bool {
	return apihelpers.IsCRDConditionTrue(&apiextensionsv1.CustomResourceDefinition{Status: *status}, t)
}

// set sets a condition. It updates the transition time only if the condition's status changes.
// (k8s.io/apiextensions-apiserver/pkg/apihelpers, SetCRDCondition)
func (s *statusWriter) set(c apiextensionsv1.CustomResourceDefinitionCondition) {
	old := s.condition(c.Type)
	if old != nil && apihelpers.IsCRDConditionEquivalent(old, &c) && !old.LastTransitionTime.IsZero() {
		return
	}
	s.own()
	c.LastTransitionTime = s.now
	if old = s.condition(c.Type); old == nil {
		s.status.Conditions = append(s.status.Conditions, c)
		return
	}
	if old.Status == c.Status && !old.LastTransitionTime.IsZero() {
		c.LastTransitionTime = old.LastTransitionTime
	}
	c.ObservedGeneration = old.ObservedGeneration
	*old = c
}

func (s *statusWriter) remove(t apiextensionsv1.CustomResourceDefinitionConditionType) {
	if s.condition(t) == nil {
		return
	}
	s.own()
	s.status.Conditions = slices.DeleteFunc(s.status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool { return c.Type == t })
}

// own copies the conditions before the first change and marks the status as changed.
func (s *statusWriter) own() {
	if !s.owned {
		s.status.Conditions = slices.Clone(s.status.Conditions)
	}
	s.owned, s.changed = true, true
}

// establish establishes a CRD whose names are accepted, unless the CA bundle of its webhook is invalid. An established
// CRD stays established.
// (k8s.io/apiextensions-apiserver/pkg/controller/establish)
func (s *statusWriter) establish(invalidCABundle bool) {
	if !isTrue(s.status, apiextensionsv1.NamesAccepted) || isTrue(s.status, apiextensionsv1.Established) {
		return
	}
	c := apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue,
		Reason: "InitialNamesAccepted", Message: "the initial names have been accepted",
	}
	if invalidCABundle {
		c.Status, c.Reason, c.Message = apiextensionsv1.ConditionFalse, "InvalidCABundle", "The conversion webhook CABundle is invalid"
	}
	s.set(c)
}

// nonStructuralCondition returns the condition NonStructuralSchema of an accepted CRD, or nil if the CRD prunes. The
// message lists all errors in the order of spec.versions. It returns a *tree.LimitError if they exceed the limits.
// (k8s.io/apiextensions-apiserver/pkg/controller/nonstructuralschema)
func nonStructuralCondition(
	ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, l tree.Limits,
) (*apiextensionsv1.CustomResourceDefinitionCondition, error) {
	if !crd.Spec.PreserveUnknownFields {
		return nil, nil
	}
	c := &apiextensionsv1.CustomResourceDefinitionCondition{Type: apiextensionsv1.NonStructuralSchema, Status: apiextensionsv1.ConditionTrue}
	errs := field.ErrorList{field.Invalid(field.NewPath("spec", "preserveUnknownFields"), true, "must be false")}
	budget := violation.NewBudget(l).Until(interrupt.Of(ctx))
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		s := schema.Of(v)
		if s == nil {
			continue
		}
		if err := schema.Unsupported(s); err != nil {
			c.Status, c.Reason = apiextensionsv1.ConditionUnknown, "StructuralError"
			c.Message = fmt.Sprintf("failed to check validation schema for version %s: %v", v.Name, err)
			return c, nil
		}
		path := field.NewPath("spec", "versions").Index(i).Child("schema", "openAPIV3Schema")
		errs = append(errs, schema.Structural(path, s, budget)...)
	}
	if err := budget.Err(); err != nil {
		return nil, err
	}
	c.Reason, c.Message = "Violations", violation.Together(errs).Error()
	return c, nil
}
