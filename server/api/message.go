package api

import (
	statusv1 "google.golang.org/genproto/googleapis/rpc/status"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/convert"
	"github.com/crdeval/crdeval/server/registry"

	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// VerdictMessage returns the message of a verdict.
func VerdictMessage(v *engine.Verdict) *crdevalv1.Verdict {
	m := &crdevalv1.Verdict{
		Allowed: v.Allowed, Revision: v.Revision, Rejection: rejection(v.Rejection), Violations: violations(v.Violations),
		Ratcheted: violations(v.Ratcheted), Warnings: warnings(v.Warnings), Next: violations(v.Next), Changes: changes(v.Pruned, v.Defaulted, v.OmittedChanges),
		RuleTraces: ruleTraces(v.Traces, v.OmittedTraces), Object: JSON(v.Object), StoredObject: JSON(v.StoredObject),
		OldObject: JSON(v.OldObject), Deletes: v.Deletes, Unchanged: v.Unchanged, Presentation: presentation(v.Presentation),
	}
	if m.Rejection != nil {
		m.Rejection.Status = JSON(v.Status)
	}
	return m
}

// ReportMessage returns the message of a report about a CRD.
func ReportMessage(r *engine.Report) *crdevalv1.CrdReport { return report(registry.NewReport(r)) }

// ConversionReportMessage returns the message of a report about conversion rules, nil for nil.
func ConversionReportMessage(r *convert.Report) *crdevalv1.ConversionReport {
	return conversionReport(r)
}

// ConditionMessage returns the message of a condition of a CRD.
func ConditionMessage(c *apiextensionsv1.CustomResourceDefinitionCondition) *crdevalv1.CrdCondition {
	return condition(c)
}

// ErrorMessage returns the message of an error of the engine.
func ErrorMessage(err error) *statusv1.Status {
	p := classify(err)
	if p == nil {
		p = &Error{Reason: crdevalv1.ErrorReason_ERROR_REASON_INTERNAL, Message: err.Error()}
	}
	return p.status()
}
