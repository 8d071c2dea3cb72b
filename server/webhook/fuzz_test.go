package webhook

import (
	"encoding/json"
	"testing"

	"github.com/crdeval/crdeval/engine/document"
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

// FuzzDifference: the patch of two objects turns the one into the other.
func FuzzDifference(f *testing.F) {
	f.Add([]byte(`{"a":[{"b":1},{}],"c/d":null}`), []byte(`{"a":[{"b":2},{"x":""}],"~":{}}`))
	f.Add([]byte(`{"":{"":1}}`), []byte(`{"":{"":1.5}}`))
	f.Fuzz(func(t *testing.T, from, to []byte) {
		if !clean(from) || !clean(to) {
			return // an API server sends neither duplicate keys nor anything that is not UTF-8
		}
		checkPatch(t, from, to)
	})
}

// clean says whether a text is an object as an API server prints one, apart from white space and the spelling of numbers.
func clean(text []byte) bool {
	var m map[string]any
	if json.Unmarshal(text, &m) != nil || m == nil {
		return false
	}
	d := document.Acquire()
	defer d.Release()
	root, err := d.ParseJSON(text, unbounded)
	if err != nil {
		return false
	}
	printed, err := json.Marshal(m)
	return err == nil && string(printed) == string(d.AppendCanonical(nil, root))
}
