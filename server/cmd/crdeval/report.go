package main

import (
	"context"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// crdReport is what an API server answers to a CRD.
type crdReport struct {
	location
	Name       string      `json:"name,omitempty"`
	Update     bool        `json:"update,omitempty"` // of a CRD of --old, or of an earlier one of the run
	Accepted   bool        `json:"accepted"`
	Rejection  *rejection  `json:"rejection,omitempty"`
	Violations []violation `json:"violations"`
	Warnings   []string    `json:"warnings"`
	Names      *condition  `json:"namesAccepted,omitempty"` // if the names conflict with those of another CRD
	// LowestMinor is the oldest Kubernetes minor that knows all formats and compiles all rules.
	LowestMinor       int32           `json:"lowestMinor,omitempty"`
	LowestMinorReason string          `json:"lowestMinorReason,omitempty"`
	Versions          []versionReport `json:"versions,omitempty"`
	Skipped           string          `json:"skipped,omitempty"` // why the document was skipped
	Error             string          `json:"error,omitempty"`   // why the document could not be checked
	Line              int             `json:"line,omitempty"`    // of the error, if known

	source *source // nil if the file could not be read
}

// condition is a condition of the status of a CRD.
type condition struct {
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

type versionReport struct {
	Name               string       `json:"name"` // versions are in order of priority
	Served             bool         `json:"served"`
	Storage            bool         `json:"storage"`
	DeprecationWarning string       `json:"deprecationWarning,omitempty"`
	HasStatus          bool         `json:"hasStatus"`
	HasScale           bool         `json:"hasScale"`
	LowestMinor        int32        `json:"lowestMinor"`
	LowestMinorReason  string       `json:"lowestMinorReason,omitempty"`
	EstimatedCost      uint64       `json:"estimatedCost"`
	CostLimit          uint64       `json:"costLimit"`
	Rules              []ruleReport `json:"rules,omitempty"`
}

type ruleReport struct {
	SchemaPointer        string        `json:"schemaPointer"`
	Rule                 string        `json:"rule"`
	EstimatedCost        uint64        `json:"estimatedCost"`
	MessageEstimatedCost uint64        `json:"messageEstimatedCost,omitempty"`
	Cardinality          uint64        `json:"cardinality"`
	Limit                uint64        `json:"limit"`
	ShareOfLimit         float64       `json:"shareOfLimit"`
	UsesOldSelf          bool          `json:"usesOldSelf"`
	Culprits             []costCulprit `json:"culprits,omitempty"`
	LowestMinor          int32         `json:"lowestMinor"`
	LowestMinorReason    string        `json:"lowestMinorReason,omitempty"`
}

// costCulprit is a missing bound that makes a rule costly.
type costCulprit struct {
	SchemaPointer string `json:"schemaPointer"`
	Keyword       string `json:"keyword"`
	Suggested     int64  `json:"suggested"`
}

// newReport returns a report without a result. Its lists are empty instead of null in JSON.
func newReport(at location, s *source) *crdReport {
	return &crdReport{location: at, Violations: []violation{}, Warnings: []string{}, source: s}
}

// registerCRD registers a CRD of a file with the service.
func (s *service) registerCRD(ctx context.Context, crd *source) *crdReport {
	j := newReport(crd.location, crd)
	answer, err := s.register(ctx, crd)
	if err != nil {
		j.Error, j.Line, _ = crd.Describe(s.manifestError(err))
		return j
	}
	r := answer.GetReport()
	j.Name, j.Update, j.Accepted = crd.id.Metadata.Name, r.GetUpdate(), answer.GetAccepted()
	j.Rejection, j.Violations = rejectionOf(r.GetRejection()), violationsOf(r.GetViolations(), crd.locate)
	j.Warnings = append(j.Warnings, r.GetWarnings()...)
	j.LowestMinor, j.LowestMinorReason = r.GetLowestMinor(), r.GetLowestMinorReason()
	for _, v := range r.GetVersions() {
		j.Versions = append(j.Versions, versionReportOf(v))
	}
	for _, c := range answer.GetCrd().GetStatus().GetConditions() {
		if c.GetType() == string(apiextensionsv1.NamesAccepted) && c.GetStatus() != string(apiextensionsv1.ConditionTrue) {
			j.Names = &condition{Status: c.GetStatus(), Reason: c.GetReason(), Message: c.GetMessage()}
		}
	}
	return j
}

// adoptCRD is registerCRD for a CRD that exists. A service in this process takes it with its status.
func (s *service) adoptCRD(ctx context.Context, crd *source) *crdReport {
	if s.local == nil {
		return s.registerCRD(ctx, crd)
	}
	j := newReport(crd.location, crd)
	name, err := s.local.adopt(ctx, crd)
	if err != nil {
		j.Error, j.Line, _ = crd.Describe(err)
		return j
	}
	j.Name, j.Accepted = name, true
	return j
}

// prepareCRD registers a CRD whose objects are evaluated. It adopts one that is established.
func (s *service) prepareCRD(ctx context.Context, crd *source) *crdReport {
	if crd.established() {
		return s.adoptCRD(ctx, crd)
	}
	return s.registerCRD(ctx, crd)
}

func versionReportOf(v *crdevalv1.VersionReport) versionReport {
	is := v.GetVersion()
	out := versionReport{
		Name: is.GetName(), Served: is.GetServed(), Storage: is.GetStorage(), DeprecationWarning: is.GetDeprecationWarning(),
		HasStatus: slices.Contains(is.GetSubresources(), "status"), HasScale: slices.Contains(is.GetSubresources(), "scale"),
		LowestMinor: v.GetLowestMinor(), LowestMinorReason: v.GetLowestMinorReason(),
		EstimatedCost: v.GetEstimatedCost(), CostLimit: v.GetCostLimit(),
	}
	for _, r := range v.GetRules() {
		rule := ruleReport{
			SchemaPointer: r.GetSchemaPointer(), Rule: r.GetRule().GetRule(), EstimatedCost: r.GetEstimatedCost(),
			MessageEstimatedCost: r.GetMessageEstimatedCost(), Cardinality: r.GetCardinality(), Limit: r.GetLimit(),
			ShareOfLimit: r.GetShareOfLimit(), UsesOldSelf: r.GetUsesOldSelf(),
			LowestMinor: r.GetLowestMinor(), LowestMinorReason: r.GetLowestMinorReason(),
		}
		for _, c := range r.GetCulprits() {
			rule.Culprits = append(rule.Culprits, costCulprit{c.GetSchemaPointer(), c.GetKeyword(), c.GetSuggested()})
		}
		out.Rules = append(out.Rules, rule)
	}
	return out
}
