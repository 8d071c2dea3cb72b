// Package webhook implements the admission webhooks: it reads an AdmissionReview of admission.k8s.io/v1, has the object
// in it evaluated by the evaluation service, and returns the review. convert.go is the conversion webhook. server/gateway
// serves both over HTTP.
//
// review.go reads and answers, validate.go has the validating and the mutating webhook, verdict.go states rejections and
// warnings in the terms of Kubernetes.
//
// An answer with allowed: false is about the object, or says that the catalog has no CRD for it. If the object cannot
// be evaluated, the caller makes an HTTP status of the error, and the failurePolicy of the webhook decides.
package webhook

import (
	"encoding/json"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubejson "sigs.k8s.io/json"
)

// apiVersion and kind are those of reviews and of the answers to them.
const (
	apiVersion = "admission.k8s.io/v1"
	kind       = "AdmissionReview"
)

// Request is the request of a review.
type Request struct{ inner *admissionv1.AdmissionRequest }

// Read reads a review. An error says why it cannot be answered. Fields that later Kubernetes versions add are ignored.
func Read(body []byte) (*Request, error) {
	if len(body) == 0 {
		return nil, fmt.Errorf("the body is empty: send an AdmissionReview of %s as JSON", apiVersion)
	}
	// The version goes first: of another one the rest may have other types.
	var about metav1.TypeMeta
	if err := kubejson.UnmarshalCaseSensitivePreserveInts(body, &about); err != nil {
		return nil, fmt.Errorf("the body is not the JSON of an AdmissionReview: %w", err)
	}
	if about.Kind != kind || about.APIVersion != apiVersion {
		return nil, fmt.Errorf("the body has apiVersion %q and kind %q, but crdeval answers only %s of %s: set admissionReviewVersions: [\"v1\"] in the configuration of the webhook",
			shortened(about.APIVersion), shortened(about.Kind), kind, apiVersion)
	}
	var review admissionv1.AdmissionReview
	if err := kubejson.UnmarshalCaseSensitivePreserveInts(body, &review); err != nil {
		return nil, fmt.Errorf("the AdmissionReview is not of %s: %w", apiVersion, err)
	}
	r := &Request{review.Request}
	if r.inner == nil {
		return nil, fmt.Errorf("the AdmissionReview has no request")
	}
	return r, r.check()
}

// check rejects a request without what an API server always sends.
func (r *Request) check() error {
	q := r.inner
	if q.UID == "" {
		return fmt.Errorf("request.uid is empty: the answer must repeat it")
	}
	switch q.Operation {
	case admissionv1.Delete, admissionv1.Connect:
		return nil
	case admissionv1.Create, admissionv1.Update:
	default:
		return fmt.Errorf("request.operation is %q: it is CREATE, UPDATE, DELETE or CONNECT", shortened(string(q.Operation)))
	}
	switch {
	case q.Resource.Resource == "" || q.Resource.Version == "":
		return fmt.Errorf("request.resource has no resource or no version: resource %q, version %q", q.Resource.Resource, q.Resource.Version)
	case len(q.Object.Raw) == 0:
		return fmt.Errorf("request.object is missing, and the operation is %s", q.Operation)
	case q.Operation == admissionv1.Update && len(q.OldObject.Raw) == 0:
		return fmt.Errorf("request.oldObject is missing, and the operation is %s", q.Operation)
	}
	return nil
}

// skipReason returns why a request has no object to evaluate; "" if it has one.
func (r *Request) skipReason() string {
	switch {
	case r.inner.Operation == admissionv1.Delete, r.inner.Operation == admissionv1.Connect:
		return string(r.inner.Operation) + " writes no object"
	case r.inner.SubResource == "scale":
		return "a Scale does not hold the object that it scales"
	}
	return ""
}

// crd returns the name of the CRD of the resource.
func (r *Request) crd() string { return r.inner.Resource.Resource + "." + r.inner.Resource.Group }

// fieldValidation returns the parameter of the client's request, "" for its default.
func (r *Request) fieldValidation() string {
	var options struct {
		FieldValidation string `json:"fieldValidation"`
	}
	if kubejson.UnmarshalCaseSensitivePreserveInts(r.inner.Options.Raw, &options) != nil {
		return "" // a type of options without the parameter
	}
	return options.FieldValidation
}

// Outcome is the outcome of a request, for metrics.
type Outcome string

// The values of Outcome.
const (
	Allowed Outcome = "allowed" // evaluated and allowed without a patch
	Patched Outcome = "patched" // allowed with a patch
	Denied  Outcome = "denied"
	Skipped Outcome = "skipped" // allowed without an object to evaluate
)

// Answer is the answer to a request.
type Answer struct {
	Outcome Outcome
	inner   admissionv1.AdmissionResponse
}

// auditNotEvaluated is the audit annotation of a request that was allowed without an object, auditRevision that of the
// CRD's revision. The API server prefixes them with the name of the webhook.
const (
	auditNotEvaluated = "not-evaluated"
	auditRevision     = "revision"
)

// allow allows a request whose object was evaluated by this revision of the CRD.
func (r *Request) allow(revision string, warnings []string) *Answer {
	a := &Answer{Outcome: Allowed}
	a.inner.UID, a.inner.Allowed, a.inner.Warnings = r.inner.UID, true, bounded(warnings)
	a.annotate(auditRevision, revision)
	return a
}

// allowSkipped allows a request without an object to evaluate.
func (r *Request) allowSkipped(why string) *Answer {
	a := r.allow("", nil)
	a.Outcome = Skipped
	a.annotate(auditNotEvaluated, why)
	return a
}

// deny rejects a request.
func (r *Request) deny(why *metav1.Status, revision string, warnings []string) *Answer {
	a := r.allow(revision, warnings)
	a.Outcome, a.inner.Allowed, a.inner.Result = Denied, false, why
	return a
}

func (a *Answer) annotate(key, value string) {
	if value == "" {
		return
	}
	if a.inner.AuditAnnotations == nil {
		a.inner.AuditAnnotations = map[string]string{}
	}
	a.inner.AuditAnnotations[key] = value
}

// patch adds a JSON Patch to an answer that allows.
func (a *Answer) patch(operations []byte) {
	jsonPatch := admissionv1.PatchTypeJSONPatch
	a.Outcome, a.inner.Patch, a.inner.PatchType = Patched, operations, &jsonPatch
}

// JSON returns the review that goes back.
func (a *Answer) JSON() ([]byte, error) {
	return json.Marshal(&admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}, Response: &a.inner,
	})
}

// shortened bounds the text of a client in a message to 100 characters.
func shortened(text string) string {
	const most = 100
	if cut := Cut(text, most); cut != text {
		text = cut + "…"
	}
	return strings.ToValidUTF8(text, "\ufffd")
}
