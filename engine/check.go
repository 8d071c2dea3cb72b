package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdeval/crdeval/engine/internal/definition"
	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/engine/value"
)

// checkThen reads and judges a manifest, and calls then with the CRD if it is accepted. memory is reused when the CRD is
// compiled. The hook Grow is called for the memory that both need.
func checkThen(ctx context.Context, manifest Document, o *Options, memory *celcheck.Memory,
	then func(*Report, *apiextensionsv1.CustomResourceDefinition) error) (*Report, error) {
	if err := o.check(ctx); err != nil {
		return nil, err
	}
	var report *Report
	err := withDoc(ctx, o, func(d *value.Doc) (err error) {
		var crd *apiextensionsv1.CustomResourceDefinition
		report, crd, err = check(ctx, d, manifest, o, memory)
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
func withDoc(ctx context.Context, o *Options, f func(*value.Doc) error) error {
	d, stop := value.Acquire(), interrupt.Of(ctx) // not released by defer: after a panic it must not return to the pool
	if stop != nil {
		d.StopOn(stop)
	}
	err := f(d)
	d.Release()
	if e := stop.Err(); e != nil {
		return e
	}
	if late := o.check(ctx); late != nil && err != nil {
		return late
	}
	return err
}

// check is checkThen without a next step. The CRD is nil if the report rejects it.
func check(ctx context.Context, d *value.Doc, manifest Document, o *Options, memory *celcheck.Memory) (
	*Report, *apiextensionsv1.CustomResourceDefinition, error) {
	source := definition.Source{Doc: d}
	m, err := decodeManifest(&source, manifest, o.Limits)
	if err != nil {
		return undecodable(&source, err)
	}
	stored, err := o.stored(m.CRD.Name)
	if err != nil {
		return nil, nil, err
	}
	r, err := definition.NewReport(ctx, m, definition.Options{
		KubernetesMinor: o.KubernetesMinor, Limits: o.Limits, Stored: stored, Memory: memory,
	}, &source)
	if late := o.check(ctx); late != nil {
		return nil, nil, late // the report may be incomplete
	}
	if err != nil {
		return nil, nil, unreadable("manifest", ReasonManifestUnreadable, err)
	}
	crd := r.CRD
	report := &Report{
		Name: crd.Name, Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind, Plural: crd.Spec.Names.Plural,
		Update: stored != nil, Generation: crd.Generation, Accepted: r.Accepted(),
		HasRules: r.HasRules, LowestMinor: r.LowestMinor, LowestMinorBecause: r.LowestMinorBecause, Versions: r.Versions,
	}
	found := violations(r.Violations)
	for i := range found {
		found[i].Hint = source.Hints(m).Violation(&r.Violations[i], found[i].Position)
	}
	strict := r.Strict
	if o.FieldValidation == FieldValidationIgnore {
		strict, r.Unseen = nil, nil
	}
	notes := slices.Concat(r.Warnings, r.Unseen, r.Notices)
	if cause := m.StrictError(&source); cause != nil && o.FieldValidation == FieldValidationStrict {
		report.Accepted, report.Rejection = false, badRequest(cause)
		report.Violations, report.Next = problemViolations(strict), found
		report.Warnings = sentWarnings(notes)
		return report, nil, nil
	}
	report.Warnings = sentWarnings(append(strict, notes...))
	if report.Accepted {
		report.KubernetesWarnings = kubernetesTexts(report.Warnings)
		return report, crd, nil
	}
	report.KubernetesWarnings = kubernetesTexts(sentWarnings(strict))
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

// decodeManifest parses a manifest into the tree of source and decodes it.
func decodeManifest(source *definition.Source, manifest Document, l Limits) (m *definition.Manifest, err error) {
	if manifest.Absent() {
		return nil, invalid("there is no manifest: send a CustomResourceDefinition as JSON or YAML")
	}
	if source.Text, source.YAML, err = manifest.text("manifest"); err != nil {
		return nil, err
	}
	d, text := source.Doc, source.Text
	if source.YAML {
		text, _, source.Root, err = d.ConvertYAML(text, value.Request, manifest.Origin, l)
	} else {
		source.Root, err = d.ParseAt(text, value.Request, manifest.Origin, l)
		if errors.As(err, new(*value.SyntaxError)) && json.Valid(text) {
			source.Root, err = parseWithoutLargeNumbers(source, manifest.Origin, err, l)
		}
	}
	root := source.Root
	if source.Unread != (value.Position{}) {
		root = 0 // the tree has other values
	}
	var unread error
	if err != nil {
		unread, source.Root = unreadable("manifest", ReasonManifestUnreadable, err), 0
		if text == nil || ReasonOf(unread) != ReasonManifestUnreadable {
			return nil, unread
		}
	}
	if !d.Grow(compilationMemory(d, text)) {
		return nil, value.ErrStopped
	}
	if m, err = definition.DecodeTree(text, d, root); err != nil {
		if unread != nil {
			err = unread
		}
		return nil, err
	}
	for i := range m.CRD.Spec.Versions {
		if err := plan.Fits(schema.Of(&m.CRD.Spec.Versions[i])); err != nil {
			return nil, unreadable("manifest", ReasonManifestUnreadable, err)
		}
	}
	return m, nil
}

// parseWithoutLargeNumbers parses a JSON text in which numbers are beyond float64. Upstream ignores them in fields that it
// does not know. The tree has other values at these places, of the same length, so that it can find positions. located is
// the first error, with its position in the Text of the Origin.
func parseWithoutLargeNumbers(source *definition.Source, o *Origin, located error, l Limits) (root uint32, _ error) {
	const most = 100
	text := bytes.Clone(source.Text)
	if first, ok := errors.AsType[*value.SyntaxError](located); ok {
		source.Unread = first.Position()
	}
	for range most {
		source.Doc.Reset()
		_, err := source.Doc.ParseJSON(text, l)
		if err == nil {
			source.Doc.Reset()
			return source.Doc.ParseAt(text, value.Request, o, l)
		}
		syntax, ok := errors.AsType[*value.SyntaxError](err)
		if !ok || syntax.Offset < 0 {
			break
		}
		for i := syntax.Offset; i < len(text) && bytes.IndexByte([]byte("0123456789.eE+-"), text[i]) >= 0; i++ {
			text[i] = ' '
		}
		text[syntax.Offset] = '1'
	}
	source.Doc.Reset()
	return 0, nil
}

// The memory that parts of a manifest take while it is decoded, checked and compiled, in bytes. Measured with eleven
// generated manifests of up to 2.4 MB, such as 30,000 fields with 14,000 rules. The most costly rules are those of
// different schemas.
const (
	memoryPerByte     = 8
	memoryPerNode     = 128
	memoryPerObject   = 1 << 10 // such as a schema
	memoryPerRule     = 10 << 10
	memoryPerRuleByte = 12
)

// compilationMemory estimates the memory that decoding, checking and compiling a manifest takes. d has its tree.
func compilationMemory(d *value.Doc, text []byte) int {
	size := len(text)*memoryPerByte + len(d.Nodes)*memoryPerNode
	for i := range d.Nodes {
		n := &d.Nodes[i]
		switch {
		case n.Kind == value.Object:
			size += memoryPerObject
		case n.Kind == value.String && d.Key(uint32(i)) == "rule":
			size += memoryPerRule + int(n.End-n.Off)*memoryPerRuleByte
		}
	}
	return size
}

// undecodable returns the report or the error for a manifest that could not be decoded.
func undecodable(source *definition.Source, err error) (*Report, *apiextensionsv1.CustomResourceDefinition, error) {
	if errors.As(err, new(*value.LimitError)) && ReasonOf(err) == "" {
		return nil, nil, unreadable("manifest", ReasonManifestUnreadable, err)
	}
	var decode *definition.DecodeError
	if ReasonOf(err) != "" || !errors.As(err, &decode) {
		return nil, nil, err
	}
	switch decode.Reason {
	case definition.NotCRD:
		return nil, nil, failed(ReasonNotACRD, "manifest", err)
	case definition.Unreadable:
		if text, at := source.UnreadableType(); text != "" {
			return nil, nil, &Error{Reason: ReasonManifestUnreadable, Message: "manifest: " + text, Position: &at, Err: err}
		}
		return nil, nil, failed(ReasonManifestUnreadable, "manifest", err)
	}
	report := &Report{
		LowestMinor: OldestMinor, Rejection: badRequest(err), Violations: problemViolations(source.Undecodable(decode)),
	}
	if c := source.Doc.Field(source.Root, "metadata"); c != 0 {
		report.Name = string([]byte(stringField(source.Doc, c, "name")))
	}
	return report, nil, nil
}

// badRequest returns the API server's answer to a request that it cannot decode.
func badRequest(cause error) *Rejection {
	status := apierrors.NewBadRequest(cause.Error()).ErrStatus
	return &Rejection{Code: status.Code, Reason: string(status.Reason), Message: status.Message}
}

// messageOf returns the message of a violation. It does not repeat the field.
func messageOf(p *definition.Problem) string {
	switch p.Type {
	case violation.TypeUnknownField:
		return "unknown field"
	case violation.TypeDuplicateField:
		return "duplicate field"
	}
	return p.Text
}

// problemViolations returns the public form of errors of decoding.
func problemViolations(problems []definition.Problem) (list []Violation) {
	for i := range problems {
		p := &problems[i]
		v := violation.Reason(StepDecode, p.Type, p.Field, messageOf(p), p.Path)
		one := newViolation(&v, p.Position, new(value.Slab))
		one.Hint = p.Hint
		list = append(list, one)
	}
	return list
}
