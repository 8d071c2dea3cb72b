package definition

import (
	"context"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/format"
	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/engine/rules"
)

// Report is the result of checking a CRD manifest.
type Report struct {
	CRD        *apiextensionsv1.CustomResourceDefinition
	Violations []violation.Violation
	// Strict are the errors of strict decoding: unknown and duplicate fields. Unseen are those that upstream's decoder does
	// not report.
	Strict, Unseen []violation.Warning
	// Warnings are those of validation, without duplicates, Notices the notes of crdeval.
	Warnings, Notices []violation.Warning
	Versions          []VersionInfo
	HasRules          bool
	// LowestKubernetes and LowestKubernetesReason are those of the version with the highest LowestKubernetes.
	LowestKubernetes, LowestKubernetesReason string
}

// Accepted reports whether an API server would accept the CRD.
func (r *Report) Accepted() bool { return len(r.Violations) == 0 }

// VersionInfo describes one version of a CRD.
type VersionInfo struct {
	Name            string
	Served, Storage bool
	// Priority is the position in Kubernetes' order of versions (GA, beta, alpha; newer first), from 0.
	Priority int
	// Index is the position in spec.versions, from 0.
	Index int
	// Deprecated reports whether every request to the version is answered with DeprecationWarning.
	Deprecated         bool
	DeprecationWarning string
	// HasRules reports whether the schema has x-kubernetes-validations.
	HasRules bool
	// HasStatus and HasScale report which subresources the version has.
	HasStatus, HasScale bool

	// The following fields are set in a Report only.

	// LowestKubernetes is the oldest supported version of Kubernetes, such as "1.34", that has all formats and compiles
	// all rules, except rules that no version compiles. LowestKubernetesReason says what the version before lacks, "" for
	// nothing.
	LowestKubernetes, LowestKubernetesReason string
	// Rules are sorted by pointer. Rules of a schema with other violations are missing, since they are not checked.
	Rules []rules.Report
	// EstimatedCost is the estimated cost of all rules and message expressions for one object, in CEL cost units. It is
	// math.MaxUint64 on overflow. CostLimit is its limit.
	EstimatedCost, CostLimit uint64
}

// describe adds the results of validation.
func (v *VersionInfo) describe(s *schema.Props, f *schema.Facts, known *Rules, rules []rules.Report) {
	v.CostLimit = celcheck.EstimateLimitTotal
	lowest, because := lowestMinor(s, f)
	v.LowestKubernetes, v.LowestKubernetesReason = format.Version(lowest), because
	if known == nil {
		return
	}
	v.Rules, v.EstimatedCost = rules, known.Cost
	for i := range rules {
		if r := &rules[i]; format.Minor(r.LowestKubernetes) > lowest {
			lowest = format.Minor(r.LowestKubernetes)
			v.LowestKubernetes, v.LowestKubernetesReason = r.LowestKubernetes, r.SchemaPointer+": "+r.LowestKubernetesReason
		}
	}
}

// NewReport validates a decoded manifest. Positions are unset if the source has no tree. The error is a
// *value.LimitError if the violations exceed the limits, or the error of an ended context.
func NewReport(ctx context.Context, m *Manifest, o Options, source *Source) (*Report, error) {
	d, root := source.Doc, source.Root
	result := Validate(ctx, m, o)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if result.Err != nil {
		return nil, result.Err
	}
	r := &Report{CRD: m.CRD, LowestKubernetes: format.Version(format.OldestMinor)}
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
	survey := m.spec.shared.Survey
	r.Versions = DescribeVersions(m.CRD, survey)
	shared := map[*Rules][]rules.Report{}
	for i := range r.Versions {
		v := &r.Versions[i]
		known := result.Rules[v.Index]
		rules, there := shared[known]
		if !there {
			rules = rulesOf(ctx, known)
			shared[known] = rules
		}
		s := schema.Of(&m.CRD.Spec.Versions[v.Index])
		v.describe(s, survey.Of(s), known, rules)
		r.HasRules = r.HasRules || v.HasRules
		if format.Minor(v.LowestKubernetes) > format.Minor(r.LowestKubernetes) {
			r.LowestKubernetes, r.LowestKubernetesReason = v.LowestKubernetes, v.LowestKubernetesReason
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.Strict, r.Unseen = source.strict(m)
	known := map[string]bool{}
	for i := range result.Warnings {
		if w := &result.Warnings[i]; !known[w.Text] {
			known[w.Text] = true
			r.Warnings = append(r.Warnings, source.locate(w))
		}
	}
	r.Notices = source.notices(m)
	for i := range r.Violations {
		v := &r.Violations[i]
		v.Hint = source.finder(m.beta).Violation(v)
	}
	return r, nil
}

// DescribeVersions describes the versions of a CRD in order of priority. survey may be nil.
func DescribeVersions(crd *apiextensionsv1.CustomResourceDefinition, survey schema.Survey) []VersionInfo {
	list := make([]VersionInfo, 0, len(crd.Spec.Versions))
	for _, i := range schema.Priority(crd.Spec.Versions) {
		v := &crd.Spec.Versions[i]
		list = append(list, VersionInfo{
			Name: v.Name, Served: v.Served, Storage: v.Storage, Priority: len(list), Index: i,
			Deprecated: v.Deprecated, DeprecationWarning: schema.Deprecation(crd, v),
			HasRules: survey.Of(schema.Of(v)).Rules, HasStatus: schema.HasStatus(v),
			HasScale: schema.ScaleOf(v) != nil,
		})
	}
	return list
}
