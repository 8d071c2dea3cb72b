package definition

import (
	"context"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/format"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/engine/value"
)

// Report is the result of checking a CRD manifest.
type Report struct {
	CRD        *apiextensionsv1.CustomResourceDefinition
	Violations []violation.Violation
	// Warnings are those of decoding, then those of validation, without duplicates.
	Warnings []string
	Versions []VersionReport
	HasRules bool
	// LowestMinor and LowestBecause are those of the version with the highest LowestMinor.
	LowestMinor   int
	LowestBecause string
}

// Accepted reports whether an API server would accept the CRD.
func (r *Report) Accepted() bool { return len(r.Violations) == 0 }

// VersionReport describes one version.
type VersionReport struct {
	// Index is the index in spec.versions.
	Index int
	// Deprecation is the warning for each request, or "".
	Deprecation         string
	HasRules            bool
	HasStatus, HasScale bool
	*apiextensionsv1.CustomResourceDefinitionVersion

	// Rules are the rules of the schema, and Cost is their total estimated cost for one object, including messages.
	// Rules, Cost, LowestMinor and LowestBecause are set only in a Report.
	Rules []RuleReport
	Cost  uint64
	// LowestMinor is the oldest Kubernetes minor that knows all formats and compiles all rules, from format.OldestMinor
	// to format.LatestMinor. Rules that no minor compiles are ignored. LowestBecause says what older minors lack, and
	// where.
	LowestMinor   int
	LowestBecause string
}

// describe adds the results of validation.
func (v *VersionReport) describe(known *Rules, rules []RuleReport) {
	v.LowestMinor, v.LowestBecause = lowestMinor(schema.Of(v.CustomResourceDefinitionVersion))
	if known == nil {
		return
	}
	v.Rules, v.Cost = rules, known.Cost
	for i := range rules {
		if r := &rules[i]; r.LowestMinor > v.LowestMinor {
			v.LowestMinor, v.LowestBecause = r.LowestMinor, r.Pointer+": "+r.LowestBecause
		}
	}
}

// NewReport validates a decoded manifest. d and root are the tree of its text; positions are unset if root is 0. The
// error is a *value.LimitError if the violations exceed the limits, or the error of an ended context.
func NewReport(ctx context.Context, m *Manifest, o Options, d *value.Doc, root uint32) (*Report, error) {
	result := Validate(ctx, m, o)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if result.Err != nil {
		return nil, result.Err
	}
	r := &Report{CRD: m.CRD, LowestMinor: format.OldestMinor}
	positions := newLocator(d, root)
	for _, err := range result.Errors {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f := violation.Of(violation.CRD, err, nil)
		if root != 0 {
			path, there, node := positions.locate(err.Field)
			f.Path, f.Position = path.Detach(), d.PositionOf(node, there)
		} else {
			f.Path = violation.PathOf(err.Field)
		}
		f.Schema = schemaPointer(f.Path)
		r.Violations = append(r.Violations, f)
	}
	r.Versions = DescribeVersions(m.CRD)
	shared := map[*Rules][]RuleReport{}
	for i := range r.Versions {
		v := &r.Versions[i]
		known := result.Rules[v.Index]
		rules, there := shared[known]
		if !there {
			rules = rulesOf(ctx, known)
			shared[known] = rules
		}
		v.describe(known, rules)
		r.HasRules = r.HasRules || v.HasRules
		if v.LowestMinor > r.LowestMinor {
			r.LowestMinor, r.LowestBecause = v.LowestMinor, v.LowestBecause
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var warnings []string
	for duplicate := range d.Duplicates(value.Request) {
		if duplicate.Path == "" { // YAML only: m.Strict has the duplicates of JSON
			warnings = append(warnings, admission.StrictWarnings(duplicate.Text)...)
		}
	}
	known := map[string]bool{}
	for _, text := range slices.Concat(warnings, m.Strict, result.Warnings) {
		if !known[text] {
			known[text] = true
			r.Warnings = append(r.Warnings, text)
		}
	}
	return r, nil
}

// DescribeVersions describes the versions of a CRD in order of priority.
func DescribeVersions(crd *apiextensionsv1.CustomResourceDefinition) []VersionReport {
	list := make([]VersionReport, 0, len(crd.Spec.Versions))
	for _, i := range schema.Priority(crd.Spec.Versions) {
		v := &crd.Spec.Versions[i]
		s := schema.Of(v)
		list = append(list, VersionReport{
			Index: i, CustomResourceDefinitionVersion: v,
			Deprecation: schema.Deprecation(crd, v),
			HasRules:    schema.HasRules(s),
			HasStatus:   schema.HasStatus(v),
			HasScale:    v.Subresources != nil && v.Subresources.Scale != nil,
		})
	}
	return list
}
