package webhook

import (
	"encoding/json"
	"testing"
)

// FuzzRead: no body makes a panic, and what is read has what the webhooks rely on.
func FuzzRead(f *testing.F) {
	f.Add([]byte(review(`{"uid":"u","operation":"UPDATE","resource":{"group":"g.io","version":"v1","resource":"xs"},"object":{},"oldObject":{},"options":{"fieldValidation":"Strict"}}`)))
	f.Add([]byte(review(`{"uid":"u","operation":"DELETE"}`)))
	f.Add([]byte(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := Read(body)
		if err != nil {
			return
		}
		if r.inner.UID == "" {
			t.Error("no uid")
		}
		_ = r.fieldValidation()
		if r.skipReason() == "" && (len(r.inner.Object.Raw) == 0 || !json.Valid(r.inner.Object.Raw)) {
			t.Errorf("the object is %q", r.inner.Object.Raw)
		}
		if text, err := r.allow("x", []string{string(body)}).JSON(); err != nil || !json.Valid(text) {
			t.Errorf("%s, %v", text, err)
		}
	})
}
