package engine

import (
	"context"
	"testing"

	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/rules"
)

// forbiddenWidget is the Status of an API server that rejects to create a Widget while its CRD is being deleted.
const forbiddenWidget = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",` +
	`"message":"widgets.example.com \"w\" is forbidden: create not allowed while custom resource definition is terminating",` +
	`"reason":"Forbidden","details":{"name":"w","group":"example.com","kind":"widgets"},"code":403}`

// TestAdmitTerminating: while a CRD is being deleted, its objects are still updated, but none is created.
func TestAdmitTerminating(t *testing.T) {
	fresh := compileCRD(t, storedCRD)
	d, err := compileStored(context.Background(), fresh.Manifest(), Options{Terminating: true})
	if err != nil {
		t.Fatal(err)
	}
	if d.Revision() == fresh.Revision() {
		t.Error("other answers have the same revision")
	}
	const named, read = `"name":"w","namespace":"n"`, `"name":"w","namespace":"n","uid":"u","generation":2,"resourceVersion":"7"`
	const nameless = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",` +
		`"message":"widgets.example.com is forbidden: create not allowed while custom resource definition is terminating",` +
		`"reason":"Forbidden","details":{"group":"example.com","kind":"widgets"},"code":403}`
	for _, c := range []struct {
		name     string
		item     Write
		o        AdmitOptions
		stage    admission.Stage
		status   string // "" if it is allowed
		warnings int
	}{
		{name: "creation", item: Create{Object: widget("v1", named, ``)}, status: forbiddenWidget},
		{name: "creation up to mutating admission", item: Create{Object: widget("v1", named, ``)}, stage: admission.StageDecode, status: forbiddenWidget},
		{name: "creation from there on", item: Create{Object: widget("v1", named, ``)}, stage: admission.StageFinish, status: forbiddenWidget},
		{name: "creation, the verdict alone", item: Create{Object: widget("v1", named, ``)}, o: AdmitOptions{View: ViewNone}, status: forbiddenWidget},
		{name: "creation with every rule traced", item: Create{Object: widget("v1", named, ``)}, o: AdmitOptions{Trace: rules.TraceAll}, status: forbiddenWidget},
		{name: "creation under a name", item: Create{Name: "w", Object: widget("v1", `"namespace":"n"`, ``)}, o: AdmitOptions{CompleteMetadata: true}, status: forbiddenWidget},
		{name: "a generated name is not a name yet", item: Create{Object: widget("v1", `"generateName":"w-","namespace":"n"`, ``)}, status: nameless},
		{name: "nor is one that was filled in", item: Create{Object: widget("v1", `"generateName":"w-"`, ``)}, o: AdmitOptions{CompleteMetadata: true}, status: nameless},
		{name: "it comes before validation", item: Create{Object: widget("v1", named, `,"spec":{"size":"x"}`)}, status: forbiddenWidget},
		{name: "warnings go with it", item: Create{Object: widget("v1", named, `,"spec":{"hue":1}`)}, status: forbiddenWidget, warnings: 1},
		{name: "strict decoding comes before it", item: Create{Object: widget("v1", named, `,"spec":{"hue":1}`)}, o: AdmitOptions{FieldValidation: FieldValidationStrict},
			status: `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Widget in version \"v1\" cannot be handled as a Widget: strict decoding error: unknown field \"spec.hue\"","reason":"BadRequest","code":400}`},
		{name: "so does the namespace", item: Create{Namespace: "other", Object: widget("v1", named, ``)},
			status: `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"the namespace of the provided object does not match the namespace sent on the request","reason":"BadRequest","code":400}`},
		{name: "behind mutating admission, validation comes before it", item: Create{Object: widget("v1", named, `,"spec":{"size":10}`)}, stage: admission.StageFinish,
			status: `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Widget.example.com \"w\" is invalid: spec: Invalid value: failed rule: self.size \u003c 10","reason":"Invalid","details":{"name":"w","group":"example.com","kind":"Widget","causes":[{"reason":"FieldValueInvalid","message":"Invalid value: failed rule: self.size \u003c 10","field":"spec"}]},"code":422}`},
		{name: "update", item: Update{Object: widget("v1", read, `,"spec":{"size":2}`), Old: widget("v1", read, ``)}},
		{name: "patch", item: Patch{Type: MergePatch, Body: JSON([]byte(`{"spec":{"size":2}}`)), Old: widget("v1", read, ``)}},
		{name: "status", item: Update{Subresource: "status", Object: widget("v1", read, `,"status":{"phase":"x"}`), Old: widget("v1", read, ``)}},
	} {
		c.o.WithStatus = true
		v, err := d.admit(context.Background(), c.item, &c.o, c.stage)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := string(v.Status); v.Allowed != (c.status == "") || got != c.status || (len(v.Violations) > 0) == v.Allowed || v.Object != nil && !v.Allowed {
			t.Errorf("%s: allowed: %t, violations: %v, status\n%s\nnot\n%s", c.name, v.Allowed, v.Violations, got, c.status)
		}
		if len(v.Warnings) != c.warnings {
			t.Errorf("%s: warnings %q", c.name, textsOf(v.Warnings))
		}
	}
	if v, err := d.Validate(context.Background(), Create{Object: widget("v1", named, ``)}, ValidateOptions{}); err != nil || !v.Allowed {
		t.Errorf("Validate, which asks no admission: %v, %v", v, err)
	}
}
