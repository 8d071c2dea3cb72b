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
		name     string
		item     Item
		o        EvaluationOptions
		refusal  string
		found    []string
		forgiven []string
	}{
		{name: "unchanged", item: Item{Object: object(version, `,"spec":{"color":"green","note":"n"}`), OldObject: old},
			forgiven: []string{"/spec/color", "/status/phase"}},
		{name: "changed", item: Item{Object: object(version, `,"spec":{"color":"black"}`), OldObject: old}, refusal: "Invalid",
			found: []string{"/spec/color"}, forgiven: []string{"/status/phase"}},
		{name: "incomplete", item: Item{Object: object("", `,"spec":{"color":"blue"}`), OldObject: old}, refusal: "Invalid",
			found: []string{"/metadata/resourceVersion", "/metadata/resourceVersion"}, forgiven: []string{"/status/phase"}},
		{name: "completed", item: Item{Object: JSON([]byte(`{"apiVersion":"example.com/v1","kind":"Gadget","spec":{"color":"blue"}}`)), OldObject: old}, o: EvaluationOptions{CompleteMetadata: true},
			forgiven: []string{"/status/phase"}},
		{name: "status", item: Item{Object: object(version, `,"status":{"size":1}`), OldObject: old, Subresource: "status"}},
		{name: "status as it was", item: Item{Object: object(version, `,"status":{"phase":"b"}`), OldObject: old, Subresource: "status"}, forgiven: []string{"/status/phase"}},
		{name: "no status there", item: Item{Version: "v1alpha1", Object: object(version, ``), OldObject: old, Subresource: "status"}, refusal: "NotFound"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v, err := d.Validate(context.Background(), tt.item, tt.o)
			if err != nil {
				t.Fatal(err)
			}
			refusal := ""
			if v.Rejection != nil {
				refusal = v.Rejection.Reason
			}
			if refusal != tt.refusal || v.Allowed != (tt.refusal == "") {
				t.Errorf("refused %q, allowed %v: %+v", refusal, v.Allowed, v.Violations)
			}
			checkPointers(t, "found", v.Violations, tt.found)
			checkPointers(t, "forgiven", v.Ratcheted, tt.forgiven)
			for _, f := range v.Ratcheted {
				if inText := f.Pointer == "/spec/color" || tt.item.Subresource != ""; inText != (f.Position != nil) {
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
