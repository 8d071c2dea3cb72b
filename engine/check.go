package engine

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/definition"
	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/internal/value"
)

// check reads and judges a manifest. The CRD is nil if the report refuses it. The memory is for whoever
// compiles it, too.
func check(ctx context.Context, manifest Document, o Options, memory *celcheck.Memory) (*Report, *apiextensionsv1.CustomResourceDefinition, error) {
	if err := o.check(ctx); err != nil {
		return nil, nil, err
	}
	d := value.Acquire() // not released by defer: after a panic it must not go back into the pool
	report, crd, err := checkIn(ctx, d, manifest, o, memory)
	d.Release()
	return report, crd, err
}

func checkIn(ctx context.Context, d *value.Doc, manifest Document, o Options, memory *celcheck.Memory) (*Report, *apiextensionsv1.CustomResourceDefinition, error) {
	text, root, unread := readManifest(d, manifest, o.Limits)
	if unread != nil && (text == nil || ReasonOf(unread) != ReasonManifestUnreadable) {
		return nil, nil, unread
	}
	// What the tree's parser refuses can still be a CRD to upstream, which skips a number that no float64 holds where it
	// skips the field. There are no places then.
	m, err := definition.Decode(text)
	if err != nil {
		if unread != nil {
			err = unread
		}
		return undecodable(d, root, err)
	}
	for i := range m.CRD.Spec.Versions {
		if err := plan.Fits(schema.Of(&m.CRD.Spec.Versions[i])); err != nil {
			return nil, nil, unreadable("manifest", ReasonManifestUnreadable, err)
		}
	}
	if o.Heavy != nil && heavy(m.CRD) {
		if err := o.Heavy(ctx); err != nil {
			return nil, nil, err
		}
	}
	stored, err := o.stored(m.CRD.Name)
	if err != nil {
		return nil, nil, err
	}
	r, err := definition.NewReport(ctx, m, definition.Options{KubernetesMinor: o.KubernetesMinor, Limits: o.Limits, Stored: stored, Memory: memory}, d, root)
	if late := o.check(ctx); late != nil {
		return nil, nil, late // what was found until the end of the call may be incomplete
	}
	if err != nil {
		return nil, nil, unreadable("manifest", ReasonManifestUnreadable, err)
	}
	crd := r.CRD
	report := &Report{
		Name: crd.Name, Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind, Plural: crd.Spec.Names.Plural,
		Update: stored != nil, Generation: crd.Generation,
		Accepted: r.Accepted(), Warnings: admission.Sent(r.Warnings), HasRules: r.HasRules, LowestMinor: r.LowestMinor, LowestMinorBecause: r.LowestBecause,
	}
	for i, v := range r.Versions {
		info := versionInfo(i, v)
		info.LowestMinor, info.LowestMinorBecause = v.LowestMinor, v.LowestBecause
		info.Rules, info.EstimatedCost, info.CostLimit = ruleReports(v.Rules), v.Cost, celcheck.EstimateLimitTotal
		report.Versions = append(report.Versions, info)
	}
	if report.Accepted {
		return report, crd, nil
	}
	var errs field.ErrorList
	texts := new(value.Slab)
	for i := range r.Findings {
		errs = append(errs, r.Findings[i].Error)
		report.Violations = append(report.Violations, violationOf(&r.Findings[i].Violation, r.Findings[i].Position, texts))
	}
	message := violation.Message(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition").GroupKind(), crd.Name, errs,
		func() bool { return ctx.Err() != nil })
	report.Rejection = &Rejection{Code: http.StatusUnprocessableEntity, Reason: string(metav1.StatusReasonInvalid), Message: message}
	if late := o.check(ctx); late != nil {
		return nil, nil, late
	}
	return report, nil, nil
}

// manyRules is how much work all rules of a CRD may be, none of them being much: some hundreds of a few hundred bytes.
const manyRules = 1 << 26

// heavy reports whether checking the rules of a CRD may take long.
func heavy(crd *apiextensionsv1.CustomResourceDefinition) bool {
	total := int64(0)
	for i := range crd.Spec.Versions {
		if schema.Any(schema.Of(&crd.Spec.Versions[i]), func(p *schema.Props) bool {
			for j := range p.XValidations {
				one := max(celcheck.EstimateWork(p.XValidations[j].Rule), celcheck.EstimateWork(p.XValidations[j].MessageExpression))
				if total += one; one >= celcheck.LongWork || total >= manyRules {
					return true
				}
			}
			return false
		}) {
			return true
		}
	}
	return false
}

// stored returns the CRD that a manifest of that name updates, nil if it creates one.
func (o Options) stored(name string) (*definition.Stored, error) {
	if o.Existing == nil || name == "" {
		return nil, nil
	}
	existing := o.Existing(name)
	if existing == nil {
		return nil, nil
	}
	m, err := definition.Decode(existing.Manifest)
	if err != nil {
		return nil, &Error{Reason: ReasonInternal, Message: "stored CRD " + name + ": " + err.Error(), Err: err}
	}
	return &definition.Stored{Manifest: m, Generation: existing.Generation, Status: existing.Status}, nil
}

// readManifest parses a manifest, which bounds it, and returns it as JSON; the latter also if the JSON could not be parsed.
func readManifest(d *value.Doc, manifest Document, l Limits) (text []byte, root uint32, err error) {
	var y *value.YAMLSource
	switch {
	case manifest.Absent():
		return nil, 0, &Error{Reason: ReasonInvalidArgument, Message: "there is no manifest: send a CustomResourceDefinition as JSON or YAML"}
	case manifest.JSON != nil && manifest.YAML != nil:
		return nil, 0, bothSet("manifest")
	case manifest.JSON != nil:
		text = manifest.JSON
		root, err = d.ParseJSON(text, l)
		var syntax *value.SyntaxError
		if errors.As(err, &syntax) && json.Valid(text) {
			// A number beyond float64, which API servers mind only where the manifest's types have a number: what is found has no
			// position then.
			d.Reset()
			root, err = 0, nil
		}
	default:
		if text, y, err = value.YAMLToJSON(manifest.YAML, l); err == nil {
			root, err = d.ParseFromYAML(text, y, value.Request, l)
		}
	}
	if err != nil {
		return text, 0, unreadable("manifest", ReasonManifestUnreadable, err)
	}
	return text, root, nil
}

// undecodable answers for a manifest that could be read, but not as a CRD.
func undecodable(d *value.Doc, root uint32, err error) (*Report, *apiextensionsv1.CustomResourceDefinition, error) {
	var decode *definition.DecodeError
	if limit := new(value.LimitError); errors.As(err, &limit) {
		return nil, nil, unreadable("manifest", ReasonManifestUnreadable, err)
	}
	if !errors.As(err, &decode) {
		return nil, nil, err
	}
	switch decode.Reason {
	case definition.NotCRD:
		return nil, nil, &Error{Reason: ReasonNotACRD, Message: "manifest: " + err.Error(), Err: err}
	case definition.Unreadable:
		return nil, nil, &Error{Reason: ReasonManifestUnreadable, Message: "manifest: " + err.Error(), Err: err}
	}
	report := &Report{LowestMinor: OldestMinor}
	if c := d.Field(root, "metadata"); c != 0 {
		if c = d.Field(c, "name"); c != 0 && d.Nodes[c].Kind == value.String {
			report.Name = string([]byte(d.Str(c)))
		}
	}
	status := apierrors.NewBadRequest(err.Error()).ErrStatus
	report.Rejection = &Rejection{Code: status.Code, Reason: string(status.Reason), Message: status.Message}
	return report, nil, nil
}

// unreadable wraps the errors of package value.
func unreadable(what string, reason Reason, err error) error {
	var limit *value.LimitError
	if errors.As(err, &limit) {
		return &Error{Reason: ReasonLimitExceeded, Message: what + ": " + limit.Error(), Limit: limit.Maximum, Actual: limit.Actual, Err: err}
	}
	e := &Error{Reason: reason, Message: what + ": " + err.Error(), Err: err}
	var syntax *value.SyntaxError
	if errors.As(err, &syntax) && syntax.Line > 0 {
		e.Position = &Position{Line: syntax.Line, Column: syntax.Column, Offset: max(syntax.Offset, 0)}
	}
	return e
}

func bothSet(what string) error {
	return &Error{Reason: ReasonInvalidArgument, Message: "the " + what + " has both JSON and YAML: send one of them"}
}

func versionInfo(priority int, v definition.VersionReport) VersionInfo {
	return VersionInfo{
		Name: v.Name, Served: v.Served, Storage: v.Storage, Priority: priority, Index: v.Index,
		Deprecated: v.Deprecated, DeprecationWarning: v.Deprecation,
		HasRules: v.HasRules, HasStatus: v.HasStatus, HasScale: v.HasScale,
	}
}

func ruleReports(rules []definition.RuleReport) []RuleReport {
	if len(rules) == 0 {
		return nil
	}
	list := make([]RuleReport, len(rules))
	for i := range rules {
		r := &rules[i]
		reason := apiextensionsv1.FieldValueInvalid
		if r.Reason != nil {
			reason = *r.Reason
		}
		list[i] = RuleReport{
			SchemaPointer: r.Pointer, Index: r.Index, Text: r.Rule, Reason: string(reason),
			EstimatedCost: r.Cost, Cardinality: r.Cardinality, MessageEstimatedCost: r.MessageCost,
			Limit: celcheck.EstimateLimit, ShareOfLimit: float64(max(r.Cost, r.MessageCost)) / celcheck.EstimateLimit,
			UsesOldSelf: r.UsesOldSelf, LowestMinor: r.LowestMinor, LowestMinorBecause: r.LowestBecause,
		}
		for _, c := range r.Culprits {
			list[i].Culprits = append(list[i].Culprits, CostCulprit{SchemaPointer: c.Pointer, Keyword: c.Keyword, Suggested: c.Suggested})
		}
	}
	return list
}
