package api_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

const toAdmit = "/v1/catalogs/default:admit"

// lampManifest is a CRD whose versions, subresources and defaults make the objects of a write differ: the API of the stored version has
// one field more, which the other one prunes.
const lampManifest = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: lamps.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: lamps, singular: lamp, kind: Lamp, shortNames: [lp], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.count, statusReplicasPath: .status.count, labelSelectorPath: .status.selector}}
    selectableFields: [{jsonPath: .spec.color}]
    additionalPrinterColumns:
    - {name: Color, type: string, jsonPath: .spec.color}
    - {name: Count, type: integer, jsonPath: .spec.count, priority: 1}
    schema:
      openAPIV3Schema:
        type: object
        description: A lamp.
        properties:
          spec:
            type: object
            properties:
              color: {type: string, default: white, enum: [white, red, green], description: What it shines in.}
              count: {type: integer, minimum: 0, maximum: 9}
              watts: {type: integer, default: 5}
          status:
            type: object
            properties:
              count: {type: integer}
              selector: {type: string}
  - name: v1beta1
    served: true
    storage: false
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {color: {type: string}, count: {type: integer}}}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
`

// withLamp registers it.
func (w *wire) withLamp() *wire {
	w.t.Helper()
	got, err := w.registry.RegisterCrd(context.Background(), &crdevalv1.RegisterCrdRequest{Catalog: "default", Manifest: yamlDocument(lampManifest)})
	if err != nil || !got.GetAccepted() {
		w.t.Fatalf("the Lamp was not accepted: %v %v", got, err)
	}
	return w
}

func lamp(version, more string) string {
	return `{"apiVersion":"example.com/` + version + `","kind":"Lamp","metadata":{"name":"x","namespace":"default","uid":"u","resourceVersion":"7","generation":3}` + more + `}`
}

// newLamp returns a lamp that is to be created: it has no resourceVersion.
func newLamp(version, more string) string {
	return strings.Replace(lamp(version, more), `"resourceVersion":"7",`, "", 1)
}

func (w *wire) admit(r *crdevalv1.AdmitRequest) []*crdevalv1.VerdictResult {
	w.t.Helper()
	if r.Context == nil {
		r.Context = &crdevalv1.EvaluationContext{}
	}
	r.Context.Catalog = "default"
	got, err := w.evaluation.Admit(context.Background(), r)
	if err != nil {
		w.t.Fatal(err)
	}
	if len(got.GetResults()) != len(r.GetItems()) {
		w.t.Fatalf("%d results for %d items", len(got.GetResults()), len(r.GetItems()))
	}
	return got.GetResults()
}

// TestAdmitViews: an answer has the object, the object if it was changed, or no object.
func TestAdmitViews(t *testing.T) {
	w := start(t, nil).withLamp()
	old := lamp("v1", `,"spec":{"color":"red","count":2,"watts":5}`)
	same, pruned := update(old, old, ""), creation(newLamp("v1", `,"spec":{"x":1}`))
	for _, c := range []struct {
		view          crdevalv1.ObjectView
		same, changed bool // has the object
	}{
		{crdevalv1.ObjectView_OBJECT_VIEW_FULL, true, true},
		{crdevalv1.ObjectView_OBJECT_VIEW_CHANGED, false, true},
		{crdevalv1.ObjectView_OBJECT_VIEW_NONE, false, false},
	} {
		r := w.admit(&crdevalv1.AdmitRequest{
			Items:   []*crdevalv1.WriteItem{same, pruned},
			Context: &crdevalv1.EvaluationContext{Options: &crdevalv1.EvaluationOptions{View: c.view}},
		})
		unchanged, changed := r[0].GetVerdict(), r[1].GetVerdict()
		if !unchanged.GetAllowed() || (unchanged.GetObject() != nil) != c.same || unchanged.GetStoredObject() != nil {
			t.Errorf("%s: an object that did not change: %v", c.view, unchanged)
		}
		if (changed.GetObject() != nil) != c.changed || (changed.GetChanges().GetPruned() != nil) != c.changed || len(changed.GetWarnings()) != 1 {
			t.Errorf("%s: an object that was pruned: %v", c.view, changed)
		}
	}
}

// TestInclude: rows, fields and scales come with Admit and Read.
func TestInclude(t *testing.T) {
	w := start(t, nil).withLamp()
	old := jsonDocument(strings.Replace(lamp("v1", `,"spec":{"color":"red","count":2,"watts":5},"status":{"count":1,"selector":"a=b"}`), `"uid"`, `"creationTimestamp":"2026-01-01T00:00:00Z","uid"`, 1))
	include := &crdevalv1.PresentationOptions{SelectableFields: true, TableRow: true, Scale: true, Now: timestamppb.New(time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC))}
	check := func(name string, p *crdevalv1.ObjectPresentation) {
		t.Helper()
		fields := ""
		for _, f := range p.GetSelectableFields() {
			fields += f.GetField() + "=" + f.GetValue() + " "
		}
		if fields != "metadata.name=x metadata.namespace=default spec.color=red " {
			t.Errorf("%s: fields %s", name, fields)
		}
		if row := string(p.GetTableRow().GetJson()); !strings.Contains(row, `"cells":["x","red",2]`) {
			t.Errorf("%s: row %s", name, row)
		}
		if scale := string(p.GetScale().GetJson()); !strings.Contains(scale, `"spec":{"replicas":2},"status":{"replicas":1,"selector":"a=b"}`) {
			t.Errorf("%s: scale %s", name, scale)
		}
	}
	admitted := w.admit(&crdevalv1.AdmitRequest{Items: []*crdevalv1.WriteItem{{Write: &crdevalv1.WriteItem_Update{Update: &crdevalv1.Update{Object: old, OldObject: old}}}}, Include: include})
	check("Admit", admitted[0].GetVerdict().GetPresentation())
	read, err := w.evaluation.Read(context.Background(), &crdevalv1.ReadRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Items: []*crdevalv1.ObjectItem{{Object: old}}, Include: include})
	if err != nil {
		t.Fatal(err)
	}
	check("Read", read.GetResults()[0].GetTransformed().GetPresentation())
	plain := w.admit(&crdevalv1.AdmitRequest{Items: []*crdevalv1.WriteItem{{Write: &crdevalv1.WriteItem_Update{Update: &crdevalv1.Update{Object: old, OldObject: old}}}}})
	if p := plain[0].GetVerdict().GetPresentation(); p != nil {
		t.Errorf("%v was not requested", p)
	}
}

// TestBadAdmits: what items of Admit can have wrong. The call succeeds, the item fails, over both faces.
func TestBadAdmits(t *testing.T) {
	w := start(t, nil).withLamp()
	object := jsonDocument(newLamp("v1", `,"spec":{}`))
	patched := patch(newLamp("v1", `,"spec":{}`), `{}`)
	for _, c := range []struct {
		name   string
		stage  crdevalv1.AdmissionStage
		item   *crdevalv1.WriteItem
		code   codes.Code
		reason string
	}{
		{"patch after its stage", crdevalv1.AdmissionStage_ADMISSION_STAGE_FINISH, patched, codes.InvalidArgument, "INVALID_ARGUMENT"},
		{"nothing", 0, &crdevalv1.WriteItem{}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		{"no such subresource", 0, &crdevalv1.WriteItem{Write: &crdevalv1.WriteItem_Update{Update: &crdevalv1.Update{Object: object, OldObject: object, Subresource: "exec"}}}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		{"no such CRD", 0, &crdevalv1.WriteItem{Crd: "a.b", Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: object}}}, codes.NotFound, "CRD_NOT_FOUND"},
		{"no such version", 0, &crdevalv1.WriteItem{Version: "v9", Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: object}}}, codes.NotFound, "VERSION_NOT_FOUND"},
		{"huge", 0, &crdevalv1.WriteItem{Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: jsonDocument(lamp("v1", `,"spec":{"color":"`+hugeString+`"}`))}}}, codes.ResourceExhausted, "LIMIT_EXCEEDED"},
	} {
		t.Run(c.name, func(t *testing.T) {
			// Of another stage the good item has to be as that takes it.
			results := w.admit(&crdevalv1.AdmitRequest{Stage: c.stage, Items: []*crdevalv1.WriteItem{{Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: object}}}, c.item}})
			if !results[0].GetVerdict().GetAllowed() {
				t.Errorf("the good item beside it: %v", results[0])
			}
			st := status.FromProto(results[1].GetError())
			if st.Code() != c.code || reason(t, st) != c.reason || st.Message() == "" || len(st.Message()) > 4096 {
				t.Errorf("got %v, want %s %s", results[1], c.code, c.reason)
			}
			t.Log(st.Message())
		})
	}
}

// TestConversionUnavailable: what only a webhook could convert fails alone, and what needs no conversion does not.
func TestConversionUnavailable(t *testing.T) {
	w := start(t, nil)
	hooked := strings.Replace(lampManifest, "  scope: Namespaced", `  scope: Namespaced
  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: "https://example.com/convert"}}}`, 1)
	got, err := w.registry.RegisterCrd(context.Background(), &crdevalv1.RegisterCrdRequest{Catalog: "default", Manifest: yamlDocument(hooked)})
	if err != nil || !got.GetAccepted() {
		t.Fatal(got, err)
	}
	stored, other := jsonDocument(newLamp("v1", `,"spec":{}`)), jsonDocument(newLamp("v1beta1", `,"spec":{}`))
	results := w.admit(&crdevalv1.AdmitRequest{Items: []*crdevalv1.WriteItem{{Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: stored}}}, {Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: other}}}, {Write: &crdevalv1.WriteItem_Update{Update: &crdevalv1.Update{Object: stored, OldObject: other}}}, {Write: &crdevalv1.WriteItem_Update{Update: &crdevalv1.Update{Object: other, OldObject: stored}}}}})
	if !results[0].GetVerdict().GetAllowed() {
		t.Errorf("the storage version: %v", results[0])
	}
	for i, result := range results[1:] {
		if st := status.FromProto(result.GetError()); st.Code() != codes.Unavailable || reason(t, st) != "CONVERSION_UNAVAILABLE" {
			t.Errorf("%d: %v", i+1, result)
		}
	}
	read, err := w.evaluation.Read(context.Background(), &crdevalv1.ReadRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, TargetVersion: "v1", Items: []*crdevalv1.ObjectItem{{Object: other}}})
	if err != nil {
		t.Fatal(err)
	}
	if st := status.FromProto(read.GetResults()[0].GetError()); reason(t, st) != "CONVERSION_UNAVAILABLE" {
		t.Errorf("Read: %v", read)
	}
	if a := w.do("POST", toShow+":table", `{"crd":"lamps.example.com","version":"v1","objects":[`+lamp("v1beta1", `,"spec":{}`)+`]}`); a.code != http.StatusServiceUnavailable || reason(t, a.status(t)) != "CONVERSION_UNAVAILABLE" {
		t.Errorf("a table: HTTP %d %s", a.code, a.text)
	}
}

// TestAdmitAnswersWithinTheLimit: an answer has two objects for one that was sent; those that find no room fail alone.
func TestAdmitAnswersWithinTheLimit(t *testing.T) {
	w := start(t, nil).withLamp()
	long := strings.Repeat("x", maxMessage/6)
	items := make([]*crdevalv1.WriteItem, 5)
	for i := range items {
		items[i] = &crdevalv1.WriteItem{Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: jsonDocument(`{"apiVersion":"example.com/v1beta1","kind":"Lamp","metadata":{"name":"x","namespace":"default"},"spec":{"color":"` + long + `"}}`)}}}
	}
	full, fitting := 0, 0
	for _, result := range w.admit(&crdevalv1.AdmitRequest{Items: items}) {
		switch st := status.FromProto(result.GetError()); {
		case result.GetVerdict().GetObject() != nil && result.GetVerdict().GetStoredObject() != nil:
			fitting++
		case reason(t, st) == "LIMIT_EXCEEDED" && strings.Contains(st.Message(), "max_message_bytes"):
			full++
		default:
			t.Errorf("%.300v", result)
		}
	}
	if fitting == 0 || full == 0 {
		t.Errorf("%d results fit, %d do not", fitting, full)
	}
}

func admitting(r *crdevalv1.AdmitRequest) func(context.Context, *wire) error {
	return func(ctx context.Context, w *wire) error {
		_, err := w.evaluation.Admit(ctx, r)
		return err
	}
}

// badAdmits are the calls of Admit and Read that fail as a whole for what they have beside others.
func badAdmits() []badCall {
	never := &timestamppb.Timestamp{Seconds: 1 << 60}
	reading := func(ctx context.Context, w *wire) error {
		_, err := w.evaluation.Read(ctx, &crdevalv1.ReadRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Include: &crdevalv1.PresentationOptions{Now: never}})
		return err
	}
	many := make([]*crdevalv1.WriteItem, 1001)
	for i := range many {
		many[i] = &crdevalv1.WriteItem{}
	}
	return []badCall{
		{"no catalog", admitting(&crdevalv1.AdmitRequest{}), "", "", "", "", codes.InvalidArgument, 400, "INVALID_ARGUMENT"},
		{"unknown catalog", admitting(&crdevalv1.AdmitRequest{Context: &crdevalv1.EvaluationContext{Catalog: "x"}}), "POST", "/v1/catalogs/x:admit", `{}`, asJSON, codes.NotFound, 404, "CATALOG_NOT_FOUND"},
		{"stage", admitting(&crdevalv1.AdmitRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Stage: 9}), "POST", toAdmit, `{"stage":9}`, asJSON, codes.InvalidArgument, 400, "INVALID_ARGUMENT"},
		{"stage by another name", nil, "POST", toAdmit, `{"stage":"DECODE"}`, asJSON, codes.InvalidArgument, 400, "MALFORMED_BODY"},
		{"time", admitting(&crdevalv1.AdmitRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Include: &crdevalv1.PresentationOptions{Now: never}}), "", "", "", "", codes.InvalidArgument, 400, "INVALID_ARGUMENT"},
		{"time of a read", reading, "", "", "", "", codes.InvalidArgument, 400, "INVALID_ARGUMENT"},
		{"invalid time", nil, "POST", toAdmit, `{"include":{"now":"yesterday"}}`, asJSON, codes.InvalidArgument, 400, "MALFORMED_BODY"},
		{"batch", admitting(&crdevalv1.AdmitRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Items: many}), "POST", toAdmit, `{"items":[{}` + strings.Repeat(",{}", 1000) + `]}`, asJSON, codes.ResourceExhausted, 413, "LIMIT_EXCEEDED"},
		{"overlay", admitting(&crdevalv1.AdmitRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default", Crds: []*crdevalv1.Document{{}}}}), "", "", "", "", codes.InvalidArgument, 400, "INVALID_ARGUMENT"},
		{"token", admitting(&crdevalv1.AdmitRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default", AtLeast: "elsewhere"}}), "POST", toAdmit, `{"context":{"atLeast":"elsewhere"}}`, asJSON, codes.InvalidArgument, 400, "TOKEN_INVALID"},
		{"parameters", nil, "POST", toAdmit + "?stage=ADMISSION_STAGE_DECODE", `{}`, asJSON, codes.InvalidArgument, 400, "INVALID_ARGUMENT"},
		{"method", nil, "GET", toAdmit, "", "", codes.Unimplemented, 405, "METHOD_NOT_ALLOWED"},
	}
}
