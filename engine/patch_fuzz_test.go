package engine

import (
	"testing"
)

// FuzzPatch: whatever the patch, of an object, its status or its scale, nothing panics, and what is answered is either
// a verdict or an error that is no defect of ours.
func FuzzPatch(f *testing.F) {
	d := scaled(f)
	for _, patch := range []string{`{"spec":{"replicas":2}}`, `{"metadata":null}`, `[1]`, `null`} {
		f.Add([]byte(patch), false, uint8(0), []byte(stored))
	}
	for _, patch := range []string{`[{"op":"add","path":"/spec/list/-","value":{"n":1}},{"op":"copy","from":"/spec","path":"/status"}]`, `[{"op":"test","path":""}]`, `[{"op":"move","from":"/kind","path":"/x"}]`} {
		f.Add([]byte(patch), true, uint8(2), []byte(stored))
	}
	f.Fuzz(func(t *testing.T, patch []byte, operations bool, subresource uint8, old []byte) {
		item := Patch{Type: MergePatch, Body: JSON(patch), Old: JSON(old), Subresource: []string{"", "status", "scale"}[subresource%3]}
		if operations {
			item.Type = JSONPatch
		}
		for _, call := range []func() (*Verdict, error){
			func() (*Verdict, error) { return d.Admit(t.Context(), item, AdmitOptions{}) },
			func() (*Verdict, error) {
				return d.Admit(t.Context(), item, AdmitOptions{FieldValidation: FieldValidationStrict, WithStatus: true})
			},
			func() (*Verdict, error) {
				return d.Decode(t.Context(), item, AdmitOptions{FieldValidation: FieldValidationIgnore})
			},
		} {
			v, err := call()
			if reason := ReasonOf(err); reason == ReasonInternal {
				t.Fatal(err)
			}
			if err == nil && v.Allowed != (v.Rejection == nil) {
				t.Fatalf("%+v", v)
			}
		}
	})
}
