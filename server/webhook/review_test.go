package webhook

import (
	"strings"
	"testing"
)

func review(request string) string {
	return `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":` + request + `}`
}

func TestRead(t *testing.T) {
	const ok = `{"uid":"u","operation":"CREATE","resource":{"group":"g.io","version":"v1","resource":"xs"},"object":{"a":1}}`
	for _, c := range []struct{ name, body, want string }{
		{"a creation", review(ok), ``},
		{"fields of later versions", review(strings.Replace(ok, `{`, `{"future":{},`, 1)), ``},
		{"a deletion", review(`{"uid":"u","operation":"DELETE","oldObject":{}}`), ``},
		{"a deletion of a collection", review(`{"uid":"u","operation":"DELETE"}`), ``},
		{"a connection", review(`{"uid":"u","operation":"CONNECT"}`), ``},
		{"nothing", ``, `the body is empty: send an AdmissionReview of admission.k8s.io/v1 as JSON`},
		{"no JSON", `{`, `the body is not the JSON of an AdmissionReview: unexpected end of JSON input`},
		{"something after it", review(ok) + `x`, `the body is not the JSON of an AdmissionReview: invalid character 'x' after top-level value`},
		{"another version", strings.Replace(review(ok), "k8s.io/v1", "k8s.io/v1beta1", 1), `the body has apiVersion "admission.k8s.io/v1beta1" and kind "AdmissionReview", but crdeval answers only AdmissionReview of admission.k8s.io/v1: ` +
			`set admissionReviewVersions: ["v1"] in the configuration of the webhook`},
		{"another kind", `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1"}`, `the body has apiVersion "apiextensions.k8s.io/v1" and kind "ConversionReview"`},
		{"no version", `{}`, `the body has apiVersion "" and kind ""`},
		{"another type", review(`[]`), `the AdmissionReview is not of admission.k8s.io/v1: `},
		{"no request", `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{}}`, `the AdmissionReview has no request`},
		{"no uid", review(strings.Replace(ok, `"u"`, `""`, 1)), `request.uid is empty`},
		{"another operation", review(strings.Replace(ok, `CREATE`, `PATCH`, 1)), `request.operation is "PATCH": it is CREATE, UPDATE, DELETE or CONNECT`},
		{"no resource", review(strings.Replace(ok, `"xs"`, `""`, 1)), `request.resource has no resource or no version: resource "", version "v1"`},
		{"no object", review(strings.Replace(ok, `{"a":1}`, `null`, 1)), `request.object is missing, and the operation is CREATE`},
		{"no old object", review(strings.Replace(ok, `CREATE`, `UPDATE`, 1)), `request.oldObject is missing, and the operation is UPDATE`},
		{"a long version", `{"kind":"AdmissionReview","apiVersion":"x` + strings.Repeat("ä", 200) + `"}`, `äää…" and kind`},
		{"an endless version", `{"kind":"AdmissionReview","apiVersion":"` + strings.Repeat("x", 10000) + `"}`, `xxx…" and kind`},
	} {
		r, err := Read([]byte(c.body))
		switch {
		case c.want == "" && (err != nil || r.inner.UID != "u"):
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 400):
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

func TestRequests(t *testing.T) {
	for _, c := range []struct{ request, crd, skipped, validation string }{
		{`{"uid":"u","operation":"CREATE","resource":{"group":"g.io","version":"v1","resource":"xs"},"object":{},"options":{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1","fieldValidation":"Strict"}}`, "xs.g.io", "", "Strict"},
		{`{"uid":"u","operation":"CREATE","resource":{"group":"g.io","version":"v1","resource":"xs"},"subResource":"scale","object":{},"options":[]}`, "xs.g.io", "a Scale does not hold the object that it scales", ""},
		{`{"uid":"u","operation":"CREATE","resource":{"version":"v1","resource":"pods"},"object":{},"options":null}`, "pods.", "", ""},
		{`{"uid":"u","operation":"DELETE","resource":{"group":"g.io","version":"v1","resource":"xs"},"options":{"fieldValidation":1}}`, "xs.g.io", "DELETE writes no object", ""},
	} {
		r, err := Read([]byte(review(c.request)))
		if err != nil {
			t.Fatal(err)
		}
		if r.crd() != c.crd || r.skipReason() != c.skipped || r.fieldValidation() != c.validation {
			t.Errorf("%s: %q %q %q", c.request, r.crd(), r.skipReason(), r.fieldValidation())
		}
	}
}
