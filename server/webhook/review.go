package webhook

import (
	"encoding/json"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kubejson "sigs.k8s.io/json"
)

// apiVersion and kind are those of the reviews that are taken, and of the answers to them.
const (
	apiVersion = "admission.k8s.io/v1"
	kind       = "AdmissionReview"
)

// MalformedError says why a body is no review that can be answered. An API server never sends such a body, except in a version that its
// configuration asks for.
type MalformedError struct{ text string }

// Error says what is wrong and what to do.
func (e *MalformedError) Error() string { return e.text }

func malformed(format string, args ...any) error {
	return &MalformedError{fmt.Sprintf(format, args...)}
}

// Request is the request of a review: what somebody wants to do to an object.
type Request struct{ inner *admissionv1.AdmissionRequest }

// Read reads a review. The error is a *MalformedError. Fields that v1 does not know are left alone, as later versions of Kubernetes add some.
func Read(body []byte) (*Request, error) {
	if len(body) == 0 {
		return nil, malformed("the body is empty: send an AdmissionReview of %s as JSON", apiVersion)
	}
	// The version goes first: of another one the rest may have other types.
	var about metav1.TypeMeta
	if err := kubejson.UnmarshalCaseSensitivePreserveInts(body, &about); err != nil {
		return nil, malformed("the body is no JSON of an AdmissionReview: %v", err)
	}
	if about.Kind != kind || about.APIVersion != apiVersion {
		return nil, malformed("the body has apiVersion %q and kind %q, and only %s of %s is answered: set admissionReviewVersions: [\"v1\"] in the configuration of the webhook",
			shortened(about.APIVersion), shortened(about.Kind), kind, apiVersion)
	}
	var review admissionv1.AdmissionReview
	if err := kubejson.UnmarshalCaseSensitivePreserveInts(body, &review); err != nil {
		return nil, malformed("the AdmissionReview is not of %s: %v", apiVersion, err)
	}
	r := &Request{review.Request}
	if r.inner == nil {
		return nil, malformed("the AdmissionReview has no request")
	}
	return r, r.check()
}

// check finds what an API server never leaves out.
func (r *Request) check() error {
	q := r.inner
	if q.UID == "" {
		return malformed("request.uid is empty: the answer could not be told from others")
	}
	switch q.Operation {
	case admissionv1.Delete, admissionv1.Connect:
		return nil
	case admissionv1.Create, admissionv1.Update:
	default:
		return malformed("request.operation is %q: it is CREATE, UPDATE, DELETE or CONNECT", shortened(string(q.Operation)))
	}
	switch {
	case q.Resource.Resource == "" || q.Resource.Version == "":
		return malformed("request.resource has no resource or no version: resource %q, version %q", q.Resource.Resource, q.Resource.Version)
	case len(q.Object.Raw) == 0:
		return malformed("request.object is missing, and the operation is %s", q.Operation)
	case q.Operation == admissionv1.Update && len(q.OldObject.Raw) == 0:
		return malformed("request.oldObject is missing, and the operation is %s", q.Operation)
	}
	return nil
}

// UID is that of the request; it is for logs.
func (r *Request) UID() types.UID { return r.inner.UID }

// unseen says why there is nothing to judge about a request; empty if there is.
func (r *Request) unseen() string {
	switch {
	case r.inner.Operation == admissionv1.Delete, r.inner.Operation == admissionv1.Connect:
		return string(r.inner.Operation) + " writes no object"
	case r.inner.SubResource == "scale":
		return "a Scale does not hold the object that it scales"
	}
	return ""
}

// crd is the name of the CRD that defines the resource.
func (r *Request) crd() string { return r.inner.Resource.Resource + "." + r.inner.Resource.Group }

// fieldValidation is what the client asked for: what becomes of unknown fields is the same here as at the API server. Empty: its default.
func (r *Request) fieldValidation() string {
	var options struct {
		FieldValidation string `json:"fieldValidation"`
	}
	if kubejson.UnmarshalCaseSensitivePreserveInts(r.inner.Options.Raw, &options) != nil {
		return "" // of a type that has none
	}
	return options.FieldValidation
}

// Outcome is what became of a request, for metrics.
type Outcome string

// The values of Outcome.
const (
	Allowed Outcome = "allowed" // judged, and nothing stood against it; nothing had to be changed
	Patched Outcome = "patched" // allowed with a patch
	Denied  Outcome = "denied"
	Unseen  Outcome = "unseen" // allowed, since there was nothing to judge
)

// Answer is the answer to a request.
type Answer struct {
	Outcome Outcome
	inner   admissionv1.AdmissionResponse
}

// auditNotJudged is the audit annotation of a request that was allowed unseen; the API server puts the name of the webhook in front. auditRevision is that of
// the CRD's revision that judged the object.
const (
	auditNotJudged = "not-judged"
	auditRevision  = "revision"
)

// allow allows a request that was judged by this revision of its CRD.
func (r *Request) allow(revision string, warnings []string) *Answer {
	a := &Answer{Outcome: Allowed}
	a.inner.UID, a.inner.Allowed, a.inner.Warnings = r.inner.UID, true, bounded(warnings)
	a.annotate(auditRevision, revision)
	return a
}

// allowUnseen allows a request without an object to judge.
func (r *Request) allowUnseen(why string) *Answer {
	a := r.allow("", nil)
	a.Outcome = Unseen
	a.annotate(auditNotJudged, why)
	return a
}

// deny refuses a request.
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

// JSON is the review that goes back: of the version and kind that came, with the uid of the request.
func (a *Answer) JSON() ([]byte, error) {
	return json.Marshal(&admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}, Response: &a.inner,
	})
}

// shortened keeps what a caller sent from filling a message.
func shortened(text string) string {
	const most = 100
	if len(text) > most {
		text = text[:most] + "…"
	}
	return strings.ToValidUTF8(text, "\ufffd")
}
