package definition

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/engine/value"
)

// Wants is the part of a CRD that determines its status.
type Wants struct {
	// Names are the requested names.
	Names *apiextensionsv1.CustomResourceDefinitionNames
	// InvalidCABundle is set if the conversion webhook has a CA bundle without a valid certificate.
	InvalidCABundle bool
	// NonStructural and Approval are conditions without times, or nil.
	NonStructural, Approval *apiextensionsv1.CustomResourceDefinitionCondition
}

// Reconcile updates the status of one CRD as the API server's controllers do: approval, structural schema, names, then
// establishment. taken has the accepted names of all CRDs in the group, including this one, and is updated. Reconcile
// returns whether the status changed; other CRDs of the group may then need reconciliation too. It copies the status's
// slices before it changes them.
func Reconcile(status *apiextensionsv1.CustomResourceDefinitionStatus, w Wants, taken Claims, now time.Time) bool {
	s := statusWriter{status: status, now: metav1.NewTime(now).Rfc3339Copy()}
	if w.Approval != nil { // never removed, because groups are immutable
		s.set(*w.Approval)
	}
	if w.NonStructural != nil {
		s.set(*w.NonStructural)
	} else {
		s.remove(apiextensionsv1.NonStructuralSchema)
	}
	s.names(w.Names, taken)
	s.establish(w.InvalidCABundle)
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

// NonStructuralCondition returns the condition NonStructuralSchema of an accepted CRD, or nil if the CRD prunes. The
// message lists all errors in the order of spec.versions. It returns a *value.LimitError if they exceed the limits.
// (k8s.io/apiextensions-apiserver/pkg/controller/nonstructuralschema)
func NonStructuralCondition(
	ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, l value.Limits,
) (*apiextensionsv1.CustomResourceDefinitionCondition, error) {
	if !crd.Spec.PreserveUnknownFields {
		return nil, nil
	}
	c := &apiextensionsv1.CustomResourceDefinitionCondition{Type: apiextensionsv1.NonStructuralSchema, Status: apiextensionsv1.ConditionTrue}
	errs := field.ErrorList{field.Invalid(field.NewPath("spec", "preserveUnknownFields"), true, "must be false")}
	budget := violation.NewBudget(l).Until(ctx.Done())
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
