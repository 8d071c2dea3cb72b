package engine

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/internal/selector"
	"github.com/crdeval/crdeval/engine/testenv/writecase"
)

// storedCRD has a status with a default, and is stored at a version with other fields than the one that requests come
// at.
var storedCRD = writecase.Manifest("widgets")

func compileCRD(t testing.TB, manifest string) *Definition {
	t.Helper()
	d, report, err := Compile(context.Background(), YAML([]byte(manifest)), Options{})
	if err != nil || !report.Accepted {
		t.Fatal(err, report)
	}
	return d
}

func widget(version, metadata, rest string) Document {
	return JSON([]byte(`{"apiVersion":"example.com/` + version + `","kind":"Widget","metadata":{` + metadata + `}` + rest + `}`))
}

// sameText compares two JSON texts by their value; "" means that there is no text.
func sameText(t *testing.T, what string, got []byte, want string) {
	t.Helper()
	if (got == nil) != (want == "") {
		t.Errorf("%s %s\nwant %s", what, got, want)
		return
	}
	if want != "" && !reflect.DeepEqual(anyJSON(t, got), anyJSON(t, []byte(want))) {
		t.Errorf("%s %s\nwant %s", what, got, want)
	}
}

func anyJSON(t *testing.T, text []byte) (v any) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(string(text)))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

// What Include asks for is shown of the object that is answered, of Admit and of Read.
func TestInclude(t *testing.T) {
	d := compileCRD(t, strings.Replace(storedCRD, "    subresources: {status: {}}\n", `    subresources: {status: {}, scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.n}}
    selectableFields: [{jsonPath: .status.phase}]
    additionalPrinterColumns: [{name: Phase, type: string, jsonPath: .status.phase}]
`, 1))
	o := AdmitOptions{View: ViewNone, Include: PresentationOptions{SelectableFields: true, TableRow: true, Scale: true}}
	object := widget("v1", `"name":"w","namespace":"n"`, `,"spec":{"size":3}`)
	v, err := d.Admit(context.Background(), Create{Object: object}, o)
	if err != nil || v.Presentation == nil {
		t.Fatalf("%v: %+v", err, v)
	}
	r, err := d.Read(context.Background(), object, ReadOptions{View: o.View, Include: o.Include})
	if err != nil || r.Presentation == nil {
		t.Fatalf("%v: %+v", err, r)
	}
	for call, p := range map[string]*Presentation{"Admit": v.Presentation, "Read": r.Presentation} {
		want := []selector.Field{{Field: "metadata.name", Value: "w"}, {Field: "metadata.namespace", Value: "n"}, {Field: "status.phase", Value: "New"}}
		if !reflect.DeepEqual(p.SelectableFields, want) {
			t.Errorf("%s: selectable fields %v", call, p.SelectableFields)
		}
		sameText(t, call+": row", p.TableRow, `{"cells":["w","New"],"object":null}`)
		sameText(t, call+": scale", p.Scale, `{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"w","namespace":"n"},"spec":{"replicas":3},"status":{"replicas":0}}`)
	}
	v, err = d.Admit(context.Background(), Create{Object: widget("v1", `"name":"w","namespace":"n"`, ``)}, o)
	if err != nil || v.Presentation == nil || v.Presentation.Scale != nil || !v.Allowed || len(v.Warnings) != 1 || !strings.HasPrefix(v.Warnings[0].Text, "crdeval: the scale cannot be shown: ") {
		t.Errorf("%v: %+v", err, v)
	}
	if v, err = d.Admit(context.Background(), Create{Version: "v1beta1", Object: widget("v1beta1", `"name":"w","namespace":"n"`, ``)}, o); err != nil || v.Presentation == nil || v.Presentation.Scale != nil || len(v.Warnings) > 0 {
		t.Errorf("%v: %+v", err, v)
	}
}

// TestAdmitViews: an object that is answered as it was sent is left out of the view of changes, whichever way it went.
func TestAdmitViews(t *testing.T) {
	d := compileCRD(t, storedCRD)
	const existing = `"name":"w","namespace":"n","generation":2,"resourceVersion":"7"`
	whole := widget("v1", existing, `,"spec":{"size":2},"status":{"phase":"x"}`)
	for _, c := range []struct {
		name  string
		item  Write
		shown bool
	}{
		{"unchanged", Update{Object: whole, Old: whole}, false},
		{"unchanged, from another version", Update{Object: whole, Old: widget("v1beta1", existing, `,"spec":{"size":2}`)}, true},
		{"unchanged at another version", Update{Object: widget("v1beta1", existing, `,"spec":{"size":2}`), Old: whole}, false},
		{"a default", Update{Object: widget("v1", existing, `,"spec":{},"status":{"phase":"x"}`), Old: whole}, true},
		{"another number", Update{Object: widget("v1", existing, `,"spec":{"size":2,"color":"\u0061\ud800"},"status":{"phase":"x"}`), Old: whole}, true},
		{"a patch", Patch{Type: MergePatch, Body: JSON([]byte(`{}`)), Old: whole}, true},
	} {
		for _, view := range []View{ViewFull, ViewChanged, ViewNone} {
			v, err := d.Admit(context.Background(), c.item, AdmitOptions{View: view})
			if err != nil || !v.Allowed {
				t.Fatalf("%s: %v %+v", c.name, err, v)
			}
			if want := view == ViewFull || view == ViewChanged && c.shown; (v.Object != nil) != want {
				t.Errorf("%s, view %d: object %s", c.name, view, v.Object)
			}
			if view == ViewNone && v.StoredObject != nil {
				t.Errorf("%s: stored object %s", c.name, v.StoredObject)
			}
		}
	}
}
