package registry

import (
	"slices"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/convert"
)

// Report is the report of a CRD, with that of its conversion rules.
type Report struct {
	*engine.Report
	// Conversion is the report of the rules. It is nil without rules and for a rejected CRD.
	Conversion *convert.Report
}

// NewReport returns the Report of a CRD that was checked or compiled.
func NewReport(r *engine.Report) *Report { return &Report{Report: r, Conversion: convert.ReportOf(r)} }

// withoutPositions returns a copy of a report for callers that do not have the text of the rules.
func withoutPositions(r *convert.Report) *convert.Report {
	if r == nil {
		return nil
	}
	out := *r
	out.Violations = slices.Clone(r.Violations)
	for i := range out.Violations {
		out.Violations[i].Position = nil
	}
	return &out
}
