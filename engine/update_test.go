package engine

import (
	"context"
	"strings"
	"testing"
)

func TestValidateUpdate(t *testing.T) {
	d, _, err := Compile(context.Background(), YAML([]byte(strings.Replace(richCRD,
		"status: {type: object, properties: {size: {type: integer}}}", "status: {type: object, properties: {size: {type: integer}, phase: {enum: [a], type: string}}}", 1))), Options{})
	if err != nil {
		t.Fatal(err)
	}
	object := func(metadata, rest string) Document {
		return JSON([]byte(`{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"g","namespace":"d"` + metadata + `}` + rest + `}`))
	}
	const version = `,"resourceVersion":"1"`
	old := YAML([]byte(`
apiVersion: example.com/v1
kind: Gadget
metadata: {name: g, namespace: d, resourceVersion: "1"}
spec: {color: green}
status: {phase: b}
`))
	for _, tt := range []struct {
		name      string
		item      Write
		o         ValidateOptions
		rejection string
		found     []string
		ratcheted []string
	}{
		{name: "unchanged", item: Update{Object: object(version, `,"spec":{"color":"green","note":"n"}`), Old: old},
			ratcheted: []string{"/spec/color", "/status/phase"}},
		{name: "changed", item: Update{Object: object(version, `,"spec":{"color":"black"}`), Old: old}, rejection: "Invalid",
			found: []string{"/spec/color"}, ratcheted: []string{"/status/phase"}},
		{name: "incomplete", item: Update{Object: object("", `,"spec":{"color":"blue"}`), Old: old}, rejection: "Invalid",
			found: []string{"/metadata/resourceVersion", "/metadata/resourceVersion"}, ratcheted: []string{"/status/phase"}},
		{name: "completed", item: Update{Object: JSON([]byte(`{"apiVersion":"example.com/v1","kind":"Gadget","spec":{"color":"blue"}}`)), Old: old}, o: ValidateOptions{CompleteMetadata: true},
			ratcheted: []string{"/status/phase"}},
		{name: "status", item: Update{Object: object(version, `,"status":{"size":1}`), Old: old, Subresource: "status"}},
		{name: "status as it was", item: Update{Object: object(version, `,"status":{"phase":"b"}`), Old: old, Subresource: "status"}, ratcheted: []string{"/status/phase"}},
		{name: "no status there", item: Update{Version: "v1alpha1", Object: object(version, ``), Old: old, Subresource: "status"}, rejection: "NotFound", found: []string{""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v, err := d.Validate(context.Background(), tt.item, tt.o)
			if err != nil {
				t.Fatal(err)
			}
			rejection := ""
			if v.Rejection != nil {
				rejection = v.Rejection.Reason
			}
			if rejection != tt.rejection || v.Allowed != (tt.rejection == "") {
				t.Errorf("rejected %q, allowed %v: %+v", rejection, v.Allowed, v.Violations)
			}
			checkPointers(t, "found", v.Violations, tt.found)
			checkPointers(t, "ratcheted", v.Ratcheted, tt.ratcheted)
			for _, f := range v.Ratcheted {
				if inText := f.Pointer == "/spec/color" || tt.item.(Update).Subresource != ""; inText != (f.Position != nil) {
					t.Errorf("%s: position %v", f.Pointer, f.Position)
				}
			}
		})
	}
}

func checkPointers(t *testing.T, what string, got []Violation, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s %+v, want %q", what, got, want)
		return
	}
	for i, v := range got {
		if v.Pointer != want[i] {
			t.Errorf("%s %s, want %s", what, v.Error(), want[i])
		}
	}
}

// TestUpdateKeepsOrder checks that an update has the keys of the request in their order, also if status is a subresource.
func TestUpdateKeepsOrder(t *testing.T) {
	d, report, err := Compile(context.Background(), storedManifest("", `versions: [{name: v1, served: true, storage: true,
    subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, properties: {
      a: {type: integer}, status: {type: object, properties: {b: {type: integer}}}}}}}]`, ""), Options{})
	if err != nil || d == nil {
		t.Fatalf("%v, %+v", err, report)
	}
	const meta = `"metadata":{"name":"w","namespace":"n","resourceVersion":"1","uid":"u","generation":1,"creationTimestamp":"2024-01-01T00:00:00Z"}`
	const head = `"apiVersion":"example.com/v1","kind":"Widget",`
	old := JSON([]byte(`{` + head + `"status":{"b":1},"a":1,` + meta + `}`))
	for _, c := range []struct{ sent, want string }{
		{`{"status":{"b":2},` + head + `"a":1,` + meta + `}`, `{"status":{"b":1},` + head + `"a":1,"metadata"`},
		{`{` + head + `"status":{"b":2},"a":1,` + meta + `}`, `{` + head + `"status":{"b":1},"a":1,"metadata"`},
		{`{` + head + `"a":1,` + meta + `}`, `{` + head + `"a":1,"metadata"`},
	} {
		v, err := d.Admit(context.Background(), Update{Object: JSON([]byte(c.sent)), Old: old}, AdmitOptions{})
		if err != nil || !v.Allowed {
			t.Fatalf("%v, %+v", err, v)
		}
		if got := string(v.Object); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: the object is %s", c.sent, got)
		}
	}
}
