package engine

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdeval/crdeval/engine/internal/admission"
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
	d, stop := value.Acquire(), interrupt.Of(ctx) // not released by defer: after a panic it must not return to the pool
	if stop != nil {
		d.StopOn(stop)
	}
	report, crd, err := check(ctx, d, manifest, o, memory)
	if err == nil && report.Accepted {
		err = then(report, crd)
	}
	d.Release()
	if e := stop.Err(); e != nil {
		err = e
	} else if late := o.check(ctx); late != nil && err != nil {
		err = late
	}
	if err != nil {
		return nil, err
	}
	return report, nil
}

// check is checkThen without a next step. The CRD is nil if the report rejects it.
func check(ctx context.Context, d *value.Doc, manifest Document, o *Options, memory *celcheck.Memory) (
	*Report, *apiextensionsv1.CustomResourceDefinition, error) {
	m, root, err := decodeManifest(d, manifest, o.Limits)
	if err != nil {
		return undecodable(d, root, err)
	}
	stored, err := o.stored(m.CRD.Name)
	if err != nil {
		return nil, nil, err
	}
	r, err := definition.NewReport(ctx, m, definition.Options{
		KubernetesMinor: o.KubernetesMinor, Limits: o.Limits, Stored: stored, Memory: memory,
	}, d, root)
	if late := o.check(ctx); late != nil {
		return nil, nil, late // the report may be incomplete
	}
	if err != nil {
		return nil, nil, unreadable("manifest", ReasonManifestUnreadable, err)
	}
	crd := r.CRD
	report := &Report{
		Name: crd.Name, Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind, Plural: crd.Spec.Names.Plural,
		Update: stored != nil, Generation: crd.Generation, Accepted: r.Accepted(), Warnings: sent(r.Warnings),
		HasRules: r.HasRules, LowestMinor: r.LowestMinor, LowestMinorBecause: r.LowestMinorBecause, Versions: r.Versions,
	}
	if report.Accepted {
		report.KubernetesWarnings = report.Warnings
		return report, crd, nil
	}
	report.KubernetesWarnings = sent(r.Warnings[:r.Decoding])
	report.Violations = violations(r.Violations)
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

// sent returns the texts that an API server sends, and the notes of crdeval.
func sent(texts []string) (list []string) {
	all := make([]violation.Warning, len(texts))
	for i, text := range texts {
		if all[i].Text = text; strings.HasPrefix(text, admission.Notice) {
			all[i].Type = violation.TypeNotice
		}
	}
	for _, w := range admission.Sent(all) {
		list = append(list, w.Text)
	}
	return list
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

// decodeManifest parses a manifest into d and decodes it. root is 0 if the text has no tree: the tree cannot hold a
// number beyond float64, which upstream ignores in a field that it does not know. There are no positions then.
func decodeManifest(d *value.Doc, manifest Document, l Limits) (m *definition.Manifest, root uint32, err error) {
	if manifest.Absent() {
		return nil, 0, invalid("there is no manifest: send a CustomResourceDefinition as JSON or YAML")
	}
	text, isYAML, err := manifest.text("manifest")
	if err != nil {
		return nil, 0, err
	}
	if isYAML {
		text, _, root, err = d.ConvertYAML(text, value.Request, manifest.Origin, l)
	} else {
		root, err = d.ParseAt(text, value.Request, manifest.Origin, l)
		if errors.As(err, new(*value.SyntaxError)) && json.Valid(text) {
			d.Reset()
			root, err = 0, nil
		}
	}
	var unread error
	if err != nil {
		unread, root = unreadable("manifest", ReasonManifestUnreadable, err), 0
		if text == nil || ReasonOf(unread) != ReasonManifestUnreadable {
			return nil, 0, unread
		}
	}
	if !d.Grow(compilationMemory(d, text)) {
		return nil, root, value.ErrStopped
	}
	if m, err = definition.DecodeTree(text, d, root); err != nil {
		if unread != nil {
			err = unread
		}
		return nil, root, err
	}
	for i := range m.CRD.Spec.Versions {
		if err := plan.Fits(schema.Of(&m.CRD.Spec.Versions[i])); err != nil {
			return nil, root, unreadable("manifest", ReasonManifestUnreadable, err)
		}
	}
	return m, root, nil
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
func undecodable(d *value.Doc, root uint32, err error) (*Report, *apiextensionsv1.CustomResourceDefinition, error) {
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
		return nil, nil, failed(ReasonManifestUnreadable, "manifest", err)
	}
	report := &Report{LowestMinor: OldestMinor}
	if c := d.Field(root, "metadata"); c != 0 {
		report.Name = string([]byte(stringField(d, c, "name")))
	}
	status := apierrors.NewBadRequest(err.Error()).ErrStatus
	report.Rejection = &Rejection{Code: status.Code, Reason: string(status.Reason), Message: status.Message}
	return report, nil, nil
}
