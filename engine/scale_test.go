package engine

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// scaleOf is a Scale as a client sends it.
func scaleOf(metadata, replicas string) string {
	return `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{` + metadata + `},"spec":{"replicas":` + replicas + `}}`
}

// TestAdmitScale: a write to the scale subresource is answered by a Scale, and what is stored is the object.
func TestAdmitScale(t *testing.T) {
	d := scaled(t)
	const answer = `{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"x","namespace":"default","uid":"u"},"spec":{"replicas":3},"status":{"replicas":1,"selector":"a=b"}}`
	after := strings.NewReplacer(`"spec":{"replicas":1`, `"spec":{"replicas":3`, `"generation":3`, `"generation":4`, `"resourceVersion":"7",`, ``).Replace(stored)
	for _, c := range []struct {
		name, body string
		patch      PatchType
		o          AdmitOptions
		stage      admission.Stage
		object     string
		stored     string
		code       int32
		message    string
	}{
		{name: "a Scale", body: scaleOf(`"name":"x"`, "3"), object: answer, stored: after},
		{name: "a merge patch", patch: MergePatch, body: `{"spec":{"replicas":3}}`, object: answer, stored: after},
		{name: "a JSON patch", patch: JSONPatch, body: `[{"op":"replace","path":"/spec/replicas","value":3}]`, object: answer, stored: after},
		{name: "the verdict alone", body: scaleOf(`"name":"x"`, "3"), o: AdmitOptions{View: ViewNone}},
		{name: "stage DECODE", body: scaleOf(`"name":"x"`, "3"), stage: admission.StageDecode,
			object: `{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"x","namespace":"default"},"spec":{"replicas":3},"status":{"replicas":0}}`},
		{name: "too many", body: scaleOf(`"name":"x"`, "6"), code: 422, message: "should be less than or equal to 5"},
		{name: "less than none", body: scaleOf(`"name":"x"`, "-1"), code: 422, message: "should be a non-negative integer"},
		{name: "a rule", body: scaleOf(`"name":"x"`, "4"), code: 422, message: "not 4"},
		{name: "another resourceVersion", body: scaleOf(`"name":"x","resourceVersion":"8"`, "3"), code: 409},
		{name: "another API version", body: strings.Replace(scaleOf(`"name":"x"`, "3"), "autoscaling/v1", "autoscaling/v2", 1), code: 400},
		{name: "an invalid patch of a Scale", patch: MergePatch, body: `{"spec":{"replicas":"x"}}`, code: 422, message: "patch: Invalid value"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var w Write = Update{Subresource: "scale", Old: JSON([]byte(stored)), Object: JSON([]byte(c.body))}
			if c.patch != 0 {
				w = Patch{Type: c.patch, Body: JSON([]byte(c.body)), Subresource: "scale", Old: JSON([]byte(stored))}
			}
			v, err := d.admit(context.Background(), w, &c.o, c.stage)
			if err != nil {
				t.Fatal(err)
			}
			if string(v.Object) != c.object || string(v.StoredObject) != c.stored {
				t.Errorf("object %s\nwant   %s\nstored %s\nwant   %s", v.Object, c.object, v.StoredObject, c.stored)
			}
			if (c.code == 0) != v.Allowed || c.code != 0 && (v.Rejection.Code != c.code || !strings.Contains(v.Rejection.Message, c.message)) {
				t.Errorf("rejection %+v, want %d %s", v.Rejection, c.code, c.message)
			}
			for _, f := range v.Violations {
				if f.Position != nil && !violation.IsReason(field.ErrorType(f.Type)) {
					t.Errorf("%s has a position", f.Error())
				}
			}
		})
	}
}

// TestScaleOfManyOwners: owner references of a Scale have the bound that those of an object have: apimachinery compares
// each with all others, and knows no deadline.
func TestScaleOfManyOwners(t *testing.T) {
	d := scaled(t)
	owners := func(n int) string { return `"ownerReferences":[` + numbered(n, `{"uid":"%d"}`) + `]` }
	scale := func(n int) Document {
		return JSON([]byte(`{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"x","namespace":"default",` + owners(n) + `},"spec":{"replicas":2}}`))
	}
	old := JSON([]byte(stored))
	patch := func(n int) Patch {
		body := JSON([]byte(`{"metadata":{` + owners(n) + `},"spec":{"replicas":2}}`))
		return Patch{Type: MergePatch, Body: body, Old: old, Subresource: "scale"}
	}
	for name, do := range map[string]func(n int) error{
		"Admit": func(n int) error {
			_, err := d.Admit(context.Background(), Update{Object: scale(n), Old: old, Subresource: "scale"}, AdmitOptions{})
			return err
		},
		"Admit of a patch": func(n int) error {
			_, err := d.Admit(context.Background(), patch(n), AdmitOptions{})
			return err
		},
	} {
		if err := do(10); err != nil {
			t.Errorf("%s of a few: %v", name, err)
		}
		if err := do(1001); ReasonOf(err) != ReasonLimitExceeded || !strings.HasPrefix(err.Error(), "Scale: size of metadata.ownerReferences") {
			t.Errorf("%s of many: %v", name, err)
		}
	}
}
