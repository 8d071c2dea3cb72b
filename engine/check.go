package engine

import (
	"context"
	"net/http"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/engine/internal/definition"
	"github.com/crdeval/crdeval/engine/internal/format"
	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// checkThen reads and judges a manifest, and calls then with the CRD if it is accepted. shared is reused when the CRD is
// compiled. The hook Grow is called for the memory that both need.
func checkThen(ctx context.Context, manifest Document, o *Options, shared *celcheck.Shared,
	then func(*Report, *apiextensionsv1.CustomResourceDefinition) error) (*Report, error) {
	if err := o.check(ctx); err != nil {
		return nil, err
	}
	var report *Report
	err := withDoc(ctx, o, func(d *tree.Doc) (err error) {
		var crd *apiextensionsv1.CustomResourceDefinition
		report, crd, err = check(ctx, d, manifest, o, shared)
		if err == nil && report.Accepted {
			err = then(report, crd)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return report, nil
}

// withDoc calls f with a Doc for a manifest, whose memory is charged to the hook Grow. The error is that of the hook, that
// of a context that ended, or that of f.
func withDoc(ctx context.Context, o *Options, f func(*tree.Doc) error) error {
	d, stop := tree.Acquire(), interrupt.Of(ctx) // not released by defer: after a panic it must not return to the pool
	if stop != nil {
		d.StopOn(stop)
	}
	err := f(d)
	d.Release()
	err = publicError(err)
	if e := stop.Err(); e != nil {
		return e
	}
	if late := o.check(ctx); late != nil && err != nil {
		return late
	}
	return err
}

// check is checkThen without a next step. The CRD is nil if the report rejects it.
func check(ctx context.Context, d *tree.Doc, manifest Document, o *Options, shared *celcheck.Shared) (
	*Report, *apiextensionsv1.CustomResourceDefinition, error) {
	source := definition.Source{Doc: d}
	m, err := compiled.DecodeManifest(&source, compiled.Document(manifest), o.Limits)
	if err != nil {
		return undecodable(&source, err)
	}
	stored, err := o.stored(m.CRD.Name)
	if err != nil {
		return nil, nil, err
	}
	r, err := definition.NewReport(ctx, m, definition.Options{
		KubernetesMinor: format.Minor(o.Kubernetes), Limits: o.Limits, Stored: stored, Shared: shared,
	}, &source)
	if late := o.check(ctx); late != nil {
		return nil, nil, late // the report may be incomplete
	}
	if err != nil {
		return nil, nil, compiled.UnreadableManifest("manifest", err)
	}
	crd := r.CRD
	report := &Report{
		Name: crd.Name, Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind, Plural: crd.Spec.Names.Plural,
		Update: stored != nil, Generation: crd.Generation, Accepted: r.Accepted(),
		HasRules: r.HasRules, LowestKubernetes: r.LowestKubernetes, LowestKubernetesReason: r.LowestKubernetesReason, Versions: r.Versions,
	}
	found := violations(r.Violations)
	strict := r.Strict
	if o.FieldValidation == FieldValidationIgnore {
		strict, r.Unseen = nil, nil
	}
	notes := slices.Concat(r.Warnings, r.Unseen, r.Notices)
	if cause := m.StrictError(&source); cause != nil && o.FieldValidation == FieldValidationStrict {
		report.Accepted, report.Rejection = false, badRequest(cause)
		report.Violations, report.Next = rejectedWarnings(strict), found
		report.Warnings = sentWarnings(notes)
		return report, nil, nil
	}
	report.Warnings = sentWarnings(append(strict, notes...))
	if report.Accepted {
		report.KubernetesWarnings = KubernetesWarnings(report.Warnings)
		return report, crd, nil
	}
	report.KubernetesWarnings = KubernetesWarnings(sentWarnings(strict))
	report.Violations = found
	kind := apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition").GroupKind()
	report.Rejection = &Rejection{
		Code: http.StatusUnprocessableEntity, Reason: string(metav1.StatusReasonInvalid),
		Message: violation.Message(kind, crd.Name, violation.Errors(r.Violations), func() bool { return ctx.Err() != nil }),
	}
	if late := o.check(ctx); late != nil {
		return nil, nil, late
	}
	return report, nil, nil
}

// stored returns the CRD that a manifest of that name updates, nil if it creates one. The manifest keeps its conversion
// rules.
func (o *Options) stored(name string) (*definition.Stored, error) {
	if o.Existing == nil || name == "" {
		return nil, nil
	}
	existing := o.Existing(name)
	if existing == nil {
		return nil, nil
	}
	m, err := definition.Decode(existing.Manifest)
	if err != nil {
		return nil, failed(ReasonInternal, "stored CRD "+name, err)
	}
	if o.Conversion.Absent() && existing.Conversion != nil {
		o.Conversion = JSON(existing.Conversion)
	}
	o.Terminating = o.Terminating || existing.Terminating
	return &definition.Stored{Manifest: m, Generation: existing.Generation, Status: existing.Status}, nil
}

// undecodable returns the report or the error for a manifest that could not be decoded.
func undecodable(source *definition.Source, err error) (*Report, *apiextensionsv1.CustomResourceDefinition, error) {
	decode, err := compiled.Undecodable(source, err)
	if err != nil {
		return nil, nil, publicError(err)
	}
	report := &Report{
		LowestKubernetes: format.Version(format.OldestMinor), Rejection: badRequest(decode), Violations: violations(source.Undecodable(decode)),
	}
	if c := source.Doc.Field(source.Root, "metadata"); c != 0 {
		report.Name = string([]byte(compiled.StringField(source.Doc, c, "name")))
	}
	return report, nil, nil
}

// badRequest returns the API server's answer to a request that it cannot decode.
func badRequest(cause error) *Rejection {
	status := apierrors.NewBadRequest(cause.Error()).ErrStatus
	return &Rejection{Code: status.Code, Reason: string(status.Reason), Message: status.Message}
}

// rejectedWarnings returns the violations that strict validation reports in place of warnings.
func rejectedWarnings(list []violation.Warning) []Violation {
	found := make([]violation.Violation, len(list))
	for i := range list {
		found[i] = list[i].Violation(StepDecode)
	}
	return violations(found)
}
