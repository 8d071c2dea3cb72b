// Package ours converts the engine's answers to the oracle's types.
package ours

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/conformance/oracle"
	"github.com/crdeval/crdeval/engine/conformance/suites/writes"
	"github.com/crdeval/crdeval/engine/conversionwebhook"
	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/definition"
	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/engine/kubeserver"
)

// Engine is the engine as the subject of a run.
type Engine struct {
	// Converter calls conversion webhooks. Nil means that they cannot be called.
	Converter conversionwebhook.Converter
	// Conversion are the conversion rules of the CRD, which replace its webhook. It may be absent.
	Conversion engine.Document
}

// FastAccepted counts accepted objects that the fast path accepted.
var FastAccepted atomic.Int64

// ExactAccepted counts accepted objects about which the fast path was not sure.
var ExactAccepted atomic.Int64

// Register implements writes.Subject.
func (e Engine) Register(manifest []byte) (writes.Definition, oracle.Answer) {
	return e.register(manifest, nil, apiextensionsv1.CustomResourceDefinitionStatus{})
}

// Update implements writes.Subject.
func (e Engine) Update(old *oracle.Registered, manifest []byte) (writes.Definition, oracle.Answer) {
	text, err := oracle.Canonical(old.Stored)
	if err != nil {
		return nil, oracle.Answer{Rejection: &oracle.Rejection{Code: 500, Message: err.Error()}}
	}
	return e.register(manifest, func(name string) *engine.Existing {
		if name != old.Stored.Name {
			return nil
		}
		return &engine.Existing{Manifest: text, Generation: old.Stored.Generation, Status: old.Stored.Status}
	}, old.Stored.Status)
}

func (e Engine) register(manifest []byte, existing func(string) *engine.Existing, status apiextensionsv1.CustomResourceDefinitionStatus) (writes.Definition, oracle.Answer) {
	d, report, err := engine.Compile(context.Background(), engine.JSON(manifest),
		engine.Options{Existing: existing, Converter: e.Converter, Conversion: e.Conversion})
	if err != nil {
		return nil, oracle.Answer{Rejection: &oracle.Rejection{Code: 400, Reason: string(engine.ReasonOf(err)), Message: err.Error()}}
	}
	answer := oracle.Answer{Warnings: sortedFormats(engine.KubernetesWarnings(report.Warnings))}
	if !report.Accepted {
		answer.Rejection = withoutReason(report)
		if r := report.Rejection; answer.Rejection == nil && r.Code == http.StatusBadRequest {
			answer.Rejection = &oracle.Rejection{Code: r.Code, Reason: r.Reason, Message: r.Message}
		}
		for _, v := range report.Violations {
			if answer.Rejection == nil {
				answer.Errors = append(answer.Errors, fieldError(v))
			}
		}
		return nil, answer
	}
	inner, err := pipeline(d.Manifest())
	if err != nil {
		answer.Rejection = &oracle.Rejection{Code: 500, Message: "accepted, and then not compiled: " + err.Error()}
		return nil, answer
	}
	if !report.Update {
		status = apiextensionsv1.CustomResourceDefinitionStatus{} // the manifest has another name
	}
	if answer.Object, err = oracle.AsRead(d.Manifest()); err != nil {
		answer.Rejection = &oracle.Rejection{Code: 500, Message: "accepted, and then not to be read: " + err.Error()}
		return nil, answer
	}
	answer.Generation, answer.StoredVersions = report.Generation, kubeserver.DesiredStatusOf(d).AddStoredVersion(status).StoredVersions
	return &Definition{facade: d, inner: inner}, answer
}

// withoutReason returns a rejection that differs from upstream's if a rejected CRD has no violation, or one without a
// position.
func withoutReason(report *engine.Report) *oracle.Rejection {
	Explained.Definitions.Add(1)
	if len(report.Violations) == 0 {
		return &oracle.Rejection{Code: 500, Message: "a rejection without a violation: " + report.Rejection.Message}
	}
	for _, v := range slices.Concat(report.Violations, report.Next) {
		if v.Position == nil {
			return &oracle.Rejection{Code: 500, Message: "a violation without a position: " + v.Error()}
		}
	}
	return nil
}

var _ writes.Strict = Engine{}

// RegisterStrict implements writes.Strict.
func (e Engine) RegisterStrict(manifest []byte, yaml bool) *oracle.Rejection {
	doc := engine.JSON(manifest)
	if yaml {
		doc = engine.YAML(manifest)
	}
	report, err := engine.Check(context.Background(), doc, engine.Options{FieldValidation: engine.FieldValidationStrict})
	switch {
	case err != nil:
		return &oracle.Rejection{Code: 400, Reason: string(engine.ReasonOf(err)), Message: err.Error()}
	case report.Accepted || report.Rejection.Code != http.StatusBadRequest:
		return nil
	}
	if r := withoutReason(report); r != nil {
		return r
	}
	return &oracle.Rejection{Code: report.Rejection.Code, Reason: report.Rejection.Reason, Message: report.Rejection.Message}
}

// sortedFormats sorts the strategy's warnings, because upstream's order is random. They follow those of the decoder.
func sortedFormats(warnings []string) []string {
	for i, w := range warnings {
		if strings.HasPrefix(w, "unrecognized format ") || strings.HasPrefix(w, "x-kubernetes-list-type: ") {
			slices.Sort(warnings[i:])
			break
		}
	}
	return warnings
}

func fieldError(v engine.Violation) oracle.FieldError {
	return oracle.FieldError{Type: v.Type, Field: v.Field, Detail: v.Detail, BadValue: v.BadValue, Message: v.Error()}
}

// pipeline compiles a stored manifest for the internal pipeline, which returns more details than the public API.
func pipeline(manifest []byte) (*admission.Definition, error) {
	m, err := definition.Decode(manifest)
	if err != nil {
		return nil, err
	}
	inner := admission.Describe(m.CRD, nil)
	for i := range m.CRD.Spec.Versions {
		v := inner.Versions[i]
		if v.Plan, err = plan.Compile(schema.Of(&m.CRD.Spec.Versions[i]), plan.Options{
			PreserveUnknown: m.CRD.Spec.PreserveUnknownFields, StatusSubresource: v.HasStatus, Rules: plan.RulesOfResource,
		}); err != nil {
			return nil, err
		}
	}
	return inner, nil
}

// Definition is a CRD compiled by the engine.
type Definition struct {
	facade *engine.Definition
	inner  *admission.Definition
}

// Engine returns the definition of the public API.
func (d *Definition) Engine() *engine.Definition { return d.facade }

// Answer implements writes.Definition with the pipeline of the public API: first the fast path.
func (d *Definition) Answer(r oracle.Request) oracle.Answer {
	if r.Whole {
		return d.whole(r)
	}
	if !judges(r) {
		return d.transform(r)
	}
	a, explained := d.judge(r, way{})
	if a.Accepted() {
		if explained {
			ExactAccepted.Add(1)
		} else {
			FastAccepted.Add(1)
		}
	}
	return a
}

// judges reports whether a request asks for a verdict.
func judges(r oracle.Request) bool {
	return r.Op == oracle.Create || r.Op == oracle.Update || r.Op == oracle.Status
}

// way is a way to evaluate: with or without the fast path, with or without closures.
type way struct{ exact, noClosures bool }

func (w way) String() string {
	return map[way]string{{}: "fast way", {exact: true}: "exact way", {noClosures: true}: "fast way without closures", {exact: true, noClosures: true}: "exact way without closures"}[w]
}

var directives = map[string]admission.FieldValidation{"": admission.Warn, oracle.Warn: admission.Warn, oracle.Strict: admission.Strict, oracle.Ignore: admission.Ignore}

// judge answers a create or an update in one of these ways.
func (d *Definition) judge(r oracle.Request, w way) (answer oracle.Answer, explained bool) {
	q := &admission.Request{
		Version: r.Version, Body: r.Body, YAML: r.YAML, FieldValidation: directives[r.FieldValidation], WantObject: true, Exact: w.exact, NoClosures: w.noClosures, Handler: r.Handler, Namespace: r.Namespace,
	}
	if r.Op != oracle.Create {
		q.Old, q.Status = r.Old, r.Op == oracle.Status
	}
	out, err := d.inner.Write(context.Background(), q)
	if err != nil {
		return oracle.Answer{Rejection: faultRejection(err)}, false
	}
	for i := range out.Warnings {
		if out.Warnings[i].Type != violation.TypeNotice {
			answer.Warnings = append(answer.Warnings, out.Warnings[i].Text)
		}
	}
	for i := range out.Violations {
		if !violation.IsReason(out.Violations[i].Type) {
			answer.Errors = append(answer.Errors, oracle.FieldErrorOf(out.Violations[i].Error))
		}
	}
	if out.Rejection != nil && len(answer.Errors) == 0 {
		answer.Rejection = &oracle.Rejection{Code: out.Rejection.Code, Reason: out.Rejection.Reason, Message: out.Rejection.Message}
		if len(out.Violations) == 0 {
			answer.Rejection.Message += withoutViolation
		}
		return answer, out.Exact
	}
	answer.Object = out.Object
	for i := range out.Strict {
		answer.Strict = append(answer.Strict, out.Strict[i].Text)
	}
	for i := range out.Ratcheted {
		if out.Ratcheted[i].Step == violation.Rules {
			answer.Ratcheted++
		}
	}
	return answer, out.Exact
}

// transform answers all other operations.
func (d *Definition) transform(r oracle.Request) oracle.Answer {
	ctx := context.Background()
	q := &admission.Request{Version: r.Version, Body: r.Body, Target: r.Target, WantObject: true, WantChanges: r.Op == oracle.Prune}
	var out admission.Outcome
	var err error
	switch r.Op {
	case oracle.Read:
		q.Version = ""
		out, err = d.inner.Read(ctx, q)
	case oracle.Convert:
		q.Version = ""
		out, err = d.inner.Convert(ctx, q)
	case oracle.Prune:
		out, err = d.inner.Prune(ctx, q)
	default:
		out, err = d.inner.Default(ctx, q)
	}
	if err != nil {
		return oracle.Answer{Rejection: faultRejection(err)}
	}
	a := oracle.Answer{Object: out.Object}
	for _, c := range out.Pruned {
		a.Strict = append(a.Strict, c.Text)
	}
	return a
}

func faultRejection(err error) *oracle.Rejection {
	var fault *admission.Fault
	if errors.As(err, &fault) {
		switch fault.Code {
		case admission.VersionNotFound, admission.VersionNotServed:
			return &oracle.Rejection{Code: 404, Reason: "NotFound", Message: "the server could not find the requested resource"}
		case admission.LimitExceeded:
			return &oracle.Rejection{Code: 400, Reason: string(fault.Code), Message: fault.Error()}
		}
		message := fault.Error()
		if fault.Code == admission.ObjectRejected && len(fault.Violations) == 0 {
			message += withoutViolation
		}
		return &oracle.Rejection{Code: 500, Reason: fmt.Sprint("fault ", fault.Code), Message: message}
	}
	return &oracle.Rejection{Code: 500, Message: err.Error()}
}

// Check implements writes.Checked. All ways must return the same, on reused memory and on fresh memory. So must the
// public API.
func (d *Definition) Check(r oracle.Request) (diffs []string) {
	if r.Whole {
		return d.checkWhole(r)
	}
	if !judges(r) {
		return nil
	}
	exact, _ := d.judge(r, way{exact: true})
	for _, w := range []way{{}, {noClosures: true}, {exact: true, noClosures: true}} {
		got, explained := d.judge(r, w)
		for _, diff := range oracle.Compare(exact, got) {
			diffs = append(diffs, fmt.Sprintf("%s (explained: %v) and exact way differ (upstream is the exact way here): %s", w, explained, diff))
		}
	}
	if r.Op != oracle.Create {
		return diffs // callers also receive what a server checks before the strategies, see checkWhole
	}
	return append(diffs, d.checkFacade(r, exact)...)
}

var public = map[string]engine.FieldValidation{"": engine.FieldValidationWarn, oracle.Warn: engine.FieldValidationWarn, oracle.Strict: engine.FieldValidationStrict, oracle.Ignore: engine.FieldValidationIgnore}

// checkFacade compares the public call with the pipeline's answer, except where the request handler's part changes it.
func (d *Definition) checkFacade(r oracle.Request, want oracle.Answer) (diffs []string) {
	doc := engine.JSON(r.Body)
	if r.YAML {
		doc = engine.YAML(r.Body)
	}
	v, err := d.facade.Validate(context.Background(), engine.Create{Version: r.Version, Object: doc}, engine.ValidateOptions{FieldValidation: public[r.FieldValidation]})
	if err != nil {
		if want.Rejection == nil {
			diffs = append(diffs, "façade: error "+err.Error())
		}
		return diffs
	}
	diffs = append(diffs, d.reasons(r, v)...)
	if !r.Handler {
		return diffs
	}
	got := oracle.Answer{Object: want.Object, Strict: want.Strict, Warnings: engine.KubernetesWarnings(v.Warnings), Ratcheted: want.Ratcheted}
	for _, f := range v.Violations {
		if kubeserver.IsCause(f.Type) {
			got.Errors = append(got.Errors, fieldError(f))
		}
	}
	if v.Rejection != nil && len(got.Errors) == 0 {
		got.Rejection = &oracle.Rejection{Code: v.Rejection.Code, Reason: v.Rejection.Reason, Message: v.Rejection.Message}
	}
	for _, diff := range oracle.Compare(want, got) {
		diffs = append(diffs, "façade (upstream is the pipeline here): "+diff)
	}
	if v.Allowed != want.Accepted() {
		diffs = append(diffs, fmt.Sprintf("façade: allowed is %v", v.Allowed))
	}
	return diffs
}
