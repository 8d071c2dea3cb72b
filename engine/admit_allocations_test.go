package engine

import (
	"context"
	"testing"

	"github.com/crdeval/crdeval/engine/internal/admission"
)

// TestAllocationsOfAdmit: a write that is accepted costs the bytes of its answer, on every fast way.
func TestAllocationsOfAdmit(t *testing.T) {
	if testing.Short() {
		t.Skip("under the race detector, which short runs are for, pools forget at random")
	}
	d := compileCRD(t, storedCRD)
	const named, read = `"name":"w","namespace":"n"`, `"name":"w","namespace":"n","uid":"u","generation":2,"resourceVersion":"7"`
	for _, c := range []struct {
		name      string
		r         admission.Request
		body, old Document
		most      float64
	}{
		{"create, with a status that comes back by default", admission.Request{}, widget("v1", named+`,"uid":"u"`, `,"spec":{},"status":{"phase":"x"}`), Document{}, 2},
		{"create at another version", admission.Request{}, widget("v1beta1", named, `,"spec":{"shade":"x"}`), Document{}, 2},
		{"update", admission.Request{}, widget("v1", read, `,"spec":{"size":2}`), widget("v1", read, `,"spec":{},"status":{"phase":"x"}`), 1},
		{"update at another version", admission.Request{}, widget("v1beta1", read, `,"spec":{"size":2}`), widget("v1", read, `,"spec":{},"status":{"phase":"x"}`), 2},
		{"update of what was stored at another version", admission.Request{}, widget("v1", read, `,"spec":{"size":2}`), widget("v1beta1", read, `,"spec":{"shade":"x"}`), 2},
		{"update that deletes", admission.Request{}, widget("v1", read, `,"spec":{"size":2}`), widget("v1", read+`,"finalizers":["a/b"],"deletionTimestamp":"2020-01-01T00:00:00Z"`, ``), 1},
		{"update of the status", admission.Request{Status: true}, widget("v1", read, `,"status":{"phase":"x"}`), widget("v1", read, `,"spec":{}`), 1},
		{"stage DECODE of a create", admission.Request{Stage: admission.StageDecode}, widget("v1", named, `,"spec":{}`), Document{}, 1},
		{"stage DECODE of an update", admission.Request{Stage: admission.StageDecode}, widget("v1", read, `,"spec":{}`), widget("v1", read, `,"spec":{}`), 2},
		{"stage FINISH of a create", admission.Request{Stage: admission.StageFinish}, widget("v1beta1", named+`,"uid":"u"`, `,"spec":{"size":1}`), Document{}, 2},
		{"stage FINISH of an update", admission.Request{Stage: admission.StageFinish}, widget("v1", read, `,"spec":{"size":1}`), widget("v1", read, `,"spec":{}`), 1},
	} {
		r := c.r
		r.Body, r.Old, r.WantObject, r.Handler, r.Whole, r.FieldValidation = c.body.JSON, c.old.JSON, true, true, true, admission.Ignore
		exact := false
		if n := testing.AllocsPerRun(100, func() {
			out, err := d.compiled.Inner.Admit(context.Background(), &r)
			if err != nil || out.Rejection != nil {
				t.Fatal(c.name, err, out.Rejection)
			}
			exact = out.Exact
		}); n > c.most || exact {
			t.Errorf("%s: %v allocations, more than %v; exact: %v", c.name, n, c.most, exact)
		}
	}
}
