package api_test

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// TestFieldValidationOfCRDs checks field_validation of the calls that register and check CRDs.
func TestFieldValidationOfCRDs(t *testing.T) {
	const manifest = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: dears.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {plural: dears, kind: Dear}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, maxlength: 1}}}
`
	w, ctx := start(t, nil), t.Context()
	for _, tt := range []struct {
		mode               crdevalv1.FieldValidation
		accepted           bool
		violations, warned int
	}{
		{crdevalv1.FieldValidation_FIELD_VALIDATION_STRICT, false, 1, 0},
		{crdevalv1.FieldValidation_FIELD_VALIDATION_IGNORE, true, 0, 0},
		{crdevalv1.FieldValidation_FIELD_VALIDATION_WARN, true, 0, 1},
		{crdevalv1.FieldValidation_FIELD_VALIDATION_UNSPECIFIED, true, 0, 1},
	} {
		compare := func(call string, accepted bool, r *crdevalv1.CrdReport) {
			t.Helper()
			if accepted != tt.accepted || len(r.GetViolations()) != tt.violations || len(r.GetWarnings()) != tt.warned {
				t.Errorf("%s, %s: accepted %v, %v", call, tt.mode, accepted, r)
			}
		}
		checked, err := w.registry.CheckCrd(ctx, &crdevalv1.CheckCrdRequest{
			Catalog: "default", Manifest: yamlDocument(manifest), FieldValidation: tt.mode,
		})
		if err != nil {
			t.Fatal(err)
		}
		compare("CheckCrd", checked.GetAccepted(), checked.GetReport())
		registered, err := w.registry.RegisterCrd(ctx, &crdevalv1.RegisterCrdRequest{
			Catalog: "default", Manifest: yamlDocument(manifest), FieldValidation: tt.mode,
		})
		if err != nil {
			t.Fatal(err)
		}
		compare("RegisterCrd", registered.GetAccepted(), registered.GetReport())
		all, err := w.registry.RegisterCrds(ctx, &crdevalv1.RegisterCrdsRequest{
			Catalog: "default",
			Entries: []*crdevalv1.RegisterCrdsEntry{{Manifest: yamlDocument(manifest), FieldValidation: tt.mode}},
		})
		if err != nil {
			t.Fatal(err)
		}
		one := all.GetResults()[0].GetRegistration()
		compare("RegisterCrds", one.GetAccepted(), one.GetReport())
	}
	_, err := w.registry.CheckCrd(ctx, &crdevalv1.CheckCrdRequest{
		Catalog: "default", Manifest: yamlDocument(manifest), FieldValidation: 9,
	})
	if status.Code(err) != codes.InvalidArgument {
		t.Errorf("an unknown value: %v", err)
	}
}
