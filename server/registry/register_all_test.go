package registry

import (
	"errors"
	"testing"

	"github.com/crdeval/crdeval/engine"
)

func TestRegisterAll(t *testing.T) {
	store := newTestStore()
	r := newRegistry(t, store, nil)
	list := []Submission{
		{Manifest: widget("Widget", "", "v1")},
		{Manifest: crontabs(10)},
		{Manifest: engine.JSON([]byte("{"))},
		{Manifest: widget("Gadget", "", "v1")}, // rejected: the first one has the name by then
		{Manifest: widget("Widget", "", "v1", "v2"), Precondition: Precondition{CreateOnly: true}}, // likewise
		{Manifest: widget("Widget", "", "v1", "v2")},
		{Manifest: crontabs(9), Precondition: Precondition{Etag: "x", CreateOnly: true}},
	}
	out, token, err := r.RegisterAll(t.Context(), "default", list)
	if err != nil || len(out) != len(list) || token != r.last() {
		t.Fatalf("%d, %v", len(out), err)
	}
	for i, want := range []Outcome{Created, Created, "", Rejected, "", Updated, ""} {
		if out[i].Registration.Outcome != want || (want == "") != (out[i].Err != nil) {
			t.Errorf("%d: %s, %v; want %q", i, out[i].Registration.Outcome, out[i].Err, want)
		}
	}
	wantReason(t, out[4].Err, CRDExists)
	wantReason(t, out[6].Err, InvalidArgument)
	if _, _, err := r.RegisterAll(t.Context(), "never", list); err == nil {
		t.Error("no catalog, no error")
	}
	if out, token, err := r.RegisterAll(t.Context(), "default", nil); len(out) != 0 || token != r.last() || err != nil {
		t.Errorf("%v, %s, %v", out, token, err)
	}

	// Once the store fails, nothing else is tried.
	tried := 0
	store.fail = func(Transaction) error { tried++; return errors.New("no disk") }
	out, _, err = r.RegisterAll(t.Context(), "default", []Submission{{Manifest: crontabs(1)}, {Manifest: crontabs(2)}, {Manifest: crontabs(3)}})
	if err != nil || tried != 1 {
		t.Errorf("%d tried, %v", tried, err)
	}
	for i := range out {
		wantReason(t, out[i].Err, StoreUnavailable)
		var e *Error
		if errors.As(out[i].Err, &e) && (e.Metadata["outcome"] == "unknown") != (i == 0) {
			t.Errorf("%d: %v, %v: what became of the first is not known, and that the others were not tried is", i, e, e.Metadata)
		}
	}
}
