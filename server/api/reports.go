package api

import (
	"google.golang.org/protobuf/proto"

	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// report spells the judgement of a CRD.
func report(r *engine.Report) *crdevalv1.CrdReport {
	m := &crdevalv1.CrdReport{
		Violations: violations(r.Violations), Warnings: allValid(r.Warnings), Rejection: refusal(r.Rejection),
		LowestMinor: int32(r.LowestMinor), LowestMinorReason: valid(r.LowestMinorBecause),
		Versions: make([]*crdevalv1.VersionReport, len(r.Versions)), Update: r.Update,
	}
	for i := range r.Versions {
		m.Versions[i] = versionReport(&r.Versions[i])
	}
	return m
}

// maxExcerptBytes is what an excerpt of a report may take of an error. gRPC sends errors in headers, of which some clients take 8 KiB.
const maxExcerptBytes = maxErrorBytes / 2

// excerpt spells of a report that refuses a CRD what has room in an error, and counts the findings that have none.
func excerpt(r *engine.Report) (m *crdevalv1.CrdReport, omitted int) {
	m = &crdevalv1.CrdReport{Rejection: refusal(r.Rejection), Update: r.Update}
	if m.Rejection != nil {
		m.Rejection.Message = bounded(m.Rejection.GetMessage(), maxExcerptBytes/4)
	}
	size := proto.Size(m)
	for i := range r.Violations {
		v := violations(r.Violations[i : i+1])[0]
		v.BadValue = nil
		if size += proto.Size(v) + 4; size > maxExcerptBytes {
			return m, len(r.Violations) - i
		}
		m.Violations = append(m.Violations, v)
	}
	return m, 0
}

func versionReport(v *engine.VersionInfo) *crdevalv1.VersionReport {
	m := &crdevalv1.VersionReport{
		Version: version(*v), LowestMinor: int32(v.LowestMinor), LowestMinorReason: valid(v.LowestMinorBecause),
		EstimatedCost: v.EstimatedCost, CostLimit: v.CostLimit, Rules: make([]*crdevalv1.RuleReport, len(v.Rules)),
	}
	for i := range v.Rules {
		m.Rules[i] = ruleReport(&v.Rules[i])
	}
	return m
}

func ruleReport(r *engine.RuleReport) *crdevalv1.RuleReport {
	m := &crdevalv1.RuleReport{
		SchemaPointer: valid(r.SchemaPointer), Rule: ruleRef(&engine.RuleRef{Index: r.Index, Text: r.Text, Reason: r.Reason}),
		EstimatedCost: r.EstimatedCost, Cardinality: r.Cardinality, Limit: r.Limit, ShareOfLimit: r.ShareOfLimit,
		MessageEstimatedCost: r.MessageEstimatedCost, UsesOldSelf: r.UsesOldSelf,
		Culprits:    make([]*crdevalv1.CostCulprit, len(r.Culprits)),
		LowestMinor: int32(r.LowestMinor), LowestMinorReason: valid(r.LowestMinorBecause),
	}
	for i, c := range r.Culprits {
		m.Culprits[i] = &crdevalv1.CostCulprit{SchemaPointer: valid(c.SchemaPointer), Keyword: c.Keyword, Suggested: c.Suggested}
	}
	return m
}
