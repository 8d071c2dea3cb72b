package engine

import (
	"testing"

	"github.com/crdeval/crdeval/engine/rules"
	"github.com/crdeval/crdeval/engine/testenv/writecase"
)

// Tests of what a server needs that holds objects decoded.

var servedCRD = writecase.Manifest("boxes")

func box(version, metadata, rest string) Document {
	return JSON([]byte(`{"apiVersion":"example.com/` + version + `","kind":"Box","metadata":{"name":"b","namespace":"n","uid":"u","creationTimestamp":"2026-01-05T08:00:00Z","generation":1` + metadata + `}` + rest + `}`))
}

// TestUnchangedInvalidText: an update that stores a replacement character in place of invalid text changes the object.
// The cases of package writecase have the other updates, but not such text.
func TestUnchangedInvalidText(t *testing.T) {
	d := compileCRD(t, servedCRD)
	const sent, spec, replaced = `,"resourceVersion":"7"`, `,"spec":{"a":"x"}`, `,"spec":{"a":"\ufffd("}`
	for _, c := range []Update{
		{Object: box("v1", sent, replaced), Old: box("v1", "", ",\"spec\":{\"a\":\"\xc3(\"}")},
		{Object: box("v1", sent, spec), Old: box("v1", "", ",\"spec\":{\"a\":\"\xc3(\"}"), Version: "v1", Subresource: "status"},
		{Object: box("v1", sent, replaced), Old: box("v1", "", `,"spec":{"a":"\ud800("}`)},
	} {
		for _, o := range []AdmitOptions{{}, {View: ViewNone}, {View: ViewChanged}, {Trace: rules.TraceAll}} {
			if v, err := d.Admit(t.Context(), c, o); err != nil || !v.Allowed || v.Unchanged {
				t.Errorf("%+v: %v %+v", o, err, v)
			}
		}
	}
}
