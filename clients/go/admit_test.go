package crdeval_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	crdeval "github.com/crdeval/crdeval/clients/go"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// buoys is a CRD with printer columns, selectable fields and a scale.
const buoys = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: buoys.sea.example.com}
spec:
  group: sea.example.com
  scope: Namespaced
  names: {plural: buoys, singular: buoy, kind: Buoy}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.lamps, statusReplicasPath: .status.lamps}}
    selectableFields: [{jsonPath: .spec.color}]
    additionalPrinterColumns: [{name: Color, type: string, jsonPath: .spec.color}]
    schema:
      openAPIV3Schema:
        type: object
        description: Floats.
        properties:
          spec: {type: object, properties: {color: {type: string, default: red}, lamps: {type: integer, maximum: 3}}}
          status: {type: object, properties: {lamps: {type: integer}}}
  - name: v1beta1
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {color: {type: string}}}}}}
`

func buoy(version, spec string) []byte {
	return []byte(`{"apiVersion":"sea.example.com/` + version + `","kind":"Buoy","metadata":{"name":"b","namespace":"n","resourceVersion":"1","generation":1},"spec":` + spec + `}`)
}

// TestAdmit checks the returned and stored objects for all kinds of writes.
func TestAdmit(t *testing.T) {
	c, _ := dial(t, serve(t))
	if _, err := c.RegisterCRD(t.Context(), []byte(buoys)); err != nil {
		t.Fatal(err)
	}
	old := buoy("v1", `{"color":"red","lamps":1}`)
	results, err := c.Admit(t.Context(),
		crdeval.Create(bytes.Replace(buoy("v1beta1", `{}`), []byte(`"resourceVersion":"1",`), nil, 1)),
		crdeval.Update(old, buoy("v1", `{"color":"green","lamps":1}`)),
		crdeval.MergePatch(old, []byte(`{"spec":{"lamps":2}}`)),
		crdeval.JSONPatch(old, []byte(`- {op: remove, path: /spec/lamps}`)),
		crdeval.UpdateSubresource("status", old, []byte(`{"apiVersion":"sea.example.com/v1","kind":"Buoy","metadata":{"name":"b","namespace":"n","resourceVersion":"1"},"status":{"lamps":1}}`)),
		crdeval.UpdateSubresource("scale", old, []byte(`{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"b","namespace":"n"},"spec":{"replicas":3}}`)),
		crdeval.MergePatch(old, []byte(`{"spec":{"lamps":4}}`)),
		&crdevalv1.WriteItem{},
	)
	if err != nil || len(results) != 8 {
		t.Fatalf("%v, %v", results, err)
	}
	for i, want := range []struct{ object, stored string }{
		{`"spec":{"color":"red"}}`, `"spec":{}}`},
		{`"spec":{"color":"green","lamps":1}}`, `"spec":{"color":"green","lamps":1}}`},
		{`"spec":{"color":"red","lamps":2}}`, `"spec":{"color":"red","lamps":2}}`},
		{`"spec":{"color":"red"}}`, `"spec":{"color":"red"}}`},
		{`"status":{"lamps":1}}`, `"status":{"lamps":1}}`},
		{`"spec":{"replicas":3},"status":{"replicas":0}}`, `"spec":{"color":"red","lamps":3}}`},
	} {
		if r := results[i]; !r.Allowed() || !strings.HasSuffix(string(r.Object()), want.object) || !strings.HasSuffix(string(r.StoredObject()), want.stored) {
			t.Errorf("%d: %s\nstored %s (%v, %v)", i, r.Object(), r.StoredObject(), r.Err, r.Verdict)
		}
	}
	if r := results[6]; r.Allowed() || r.Err != nil || r.Object() != nil || r.StoredObject() != nil || r.Verdict.GetRejection().GetCode() != 422 {
		t.Errorf("rejected: %v", r)
	}
	if r := results[7]; status.Code(r.Err) != codes.InvalidArgument || r.Object() != nil {
		t.Errorf("a patch of nothing: %v", r)
	}
	presented, err := c.AdmitItems(t.Context(), []*crdevalv1.WriteItem{crdeval.Update(old, old)}, crdeval.AdmitOptions{
		Evaluation: &crdevalv1.EvaluationOptions{View: crdevalv1.ObjectView_OBJECT_VIEW_CHANGED}, Include: &crdevalv1.PresentationOptions{TableRow: true, SelectableFields: true},
	})
	if err != nil || presented[0].Object() != nil || len(presented[0].Verdict.GetPresentation().GetSelectableFields()) != 3 {
		t.Errorf("%v, %v", presented, err)
	}
	if none, err := c.Admit(t.Context()); err != nil || len(none) != 0 {
		t.Errorf("nothing: %v, %v", none, err)
	}
}

// TestPresentation checks all presentations of objects and of a catalog.
func TestPresentation(t *testing.T) {
	c, _ := dial(t, serve(t))
	ctx := t.Context()
	if _, err := c.RegisterCRD(ctx, []byte(buoys)); err != nil {
		t.Fatal(err)
	}
	var s crdeval.Subject
	red, green := buoy("v1", `{"color":"red","lamps":1}`), buoy("v1", `{"color":"green"}`)
	table, err := c.Table(ctx, s, red, green)
	if err != nil || !strings.Contains(string(table), `"cells":["b","green"]`) {
		t.Errorf("%s, %v", table, err)
	}
	text, err := c.TableText(ctx, s, nil, red)
	if err != nil || text != "NAME   COLOR\nb      red\n" {
		t.Errorf("%q, %v", text, err)
	}
	selected, err := c.SelectFields(ctx, s, "spec.color=red", red, green)
	if err != nil || len(selected) != 2 || !selected[0].Matches || selected[1].Matches || selected[1].Fields[2].GetValue() != "green" {
		t.Errorf("%v, %v", selected, err)
	}
	var rejected *crdeval.Rejected
	if _, err := c.SelectFields(ctx, crdeval.Subject{CRD: "buoys.sea.example.com"}, "spec.lamps=1"); !errors.As(err, &rejected) || rejected.GetCode() != 400 {
		t.Errorf("a selector that is rejected: %v", err)
	}
	scale, err := c.GetScale(ctx, s, red)
	if err != nil || !strings.Contains(string(scale), `"spec":{"replicas":1}`) {
		t.Errorf("%s, %v", scale, err)
	}
	if _, err := c.GetScale(ctx, s, buoy("v1beta1", `{}`)); !errors.As(err, &rejected) || rejected.GetCode() != 404 {
		t.Errorf("a version without a scale: %v", err)
	}
	scaled, err := c.SetScale(ctx, s, green, scale)
	if err != nil || !strings.HasSuffix(string(scaled), `"spec":{"color":"green","lamps":1}}`) {
		t.Errorf("%s, %v", scaled, err)
	}
	_, err = c.SetScale(ctx, s, green, []byte(strings.Replace(string(scale), `"replicas":`, `"replicas":"one","was":`, 1)))
	if !errors.As(err, &rejected) || rejected.GetCode() != 400 || strings.Contains(rejected.GetMessage(), "unmarshal") || !strings.Contains(err.Error(), "cannot unmarshal string") {
		t.Errorf("a Scale with a text: %v", err)
	}
	for what, ask := range map[string]func() ([]byte, error){
		`"swagger":"2.0"`:                func() ([]byte, error) { return c.OpenAPIV2(ctx) },
		`"apis/sea.example.com/v1beta1"`: func() ([]byte, error) { return c.OpenAPIV3(ctx, "", "") },
		`"Floats."`:                      func() ([]byte, error) { return c.OpenAPIV3(ctx, "sea.example.com", "v1") },
		`"kind":"APIGroupDiscoveryList"`: func() ([]byte, error) { return c.Discover(ctx) },
		"FIELD: lamps <integer>":         func() ([]byte, error) { text, err := c.Explain(ctx, "buoys.spec.lamps"); return []byte(text), err },
	} {
		if got, err := ask(); err != nil || !strings.Contains(string(got), what) {
			t.Errorf("%s: %.300s, %v", what, got, err)
		}
	}
	if m, err := c.FieldManagement(ctx, "buoys.sea.example.com"); err != nil || len(m.GetVersions()) != 2 {
		t.Errorf("%v, %v", m, err)
	}
	for name, err := range map[string]error{
		"OpenAPI": func() error { _, err := c.OpenAPIV3(ctx, "a.b", "v1"); return err }(), "field management": func() error { _, err := c.FieldManagement(ctx, "a.b"); return err }(),
	} {
		if status.Code(err) != codes.NotFound {
			t.Errorf("%s of a missing group or CRD: %v", name, err)
		}
	}
	if _, err := c.Table(ctx, s); status.Code(err) != codes.InvalidArgument {
		t.Errorf("a table without objects: %v", err)
	}
	inline := []byte(strings.ReplaceAll(buoys, "sea.example.com", "lake.example.com"))
	if text, err := c.With(inline).TableText(ctx, s, nil, []byte(strings.ReplaceAll(string(red), "sea.", "lake."))); err != nil || text != "NAME   COLOR\nb      red\n" {
		t.Errorf("an inline CRD: %q, %v", text, err)
	}
}

// TestManyAreSelected checks that SelectFields splits many objects into several calls.
func TestManyAreSelected(t *testing.T) {
	c, _ := dial(t, serve(t))
	if _, err := c.RegisterCRD(t.Context(), []byte(buoys)); err != nil {
		t.Fatal(err)
	}
	objects := make([][]byte, 2100)
	for i := range objects {
		objects[i] = buoy("v1", `{"color":"red"}`)
	}
	objects[2050] = buoy("v1", `{"color":"green"}`)
	selected, err := c.SelectFields(t.Context(), crdeval.Subject{}, "spec.color!=red", objects...)
	if err != nil || len(selected) != len(objects) {
		t.Fatal(len(selected), err)
	}
	for i, s := range selected {
		if s.Matches != (i == 2050) {
			t.Errorf("%d: %v", i, s)
		}
	}
}
