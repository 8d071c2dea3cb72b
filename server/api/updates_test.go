package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/gateway"
)

// gadgetManifest has rules of every kind that updates are about, and a status.
const gadgetManifest = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gadgets, kind: Gadget}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            x-kubernetes-validations:
            - {rule: "!has(self.least) || !has(self.most) || self.least <= self.most", message: least is more than most, reason: FieldValueForbidden, fieldPath: .least}
            properties:
              color: {type: string, maxLength: 10, x-kubernetes-validations: [{rule: "self == oldSelf", messageExpression: "'was ' + oldSelf"}]}
              least: {type: integer}
              most: {type: integer}
              size: {type: integer, minimum: 5, x-kubernetes-validations: [{rule: "self % 2 == 0", message: sizes are even}]}
          status:
            type: object
            properties: {runs: {type: integer, x-kubernetes-validations: [{rule: "self >= oldSelf", message: runs only grow}]}}
  - name: v1alpha1
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

func gadget(body string) string {
	return `{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"x","namespace":"default","resourceVersion":"1"}` + body + `}`
}

func (w *wire) withGadget() *wire {
	w.t.Helper()
	got, err := w.registry.RegisterCrd(context.Background(), &crdevalv1.RegisterCrdRequest{Catalog: "default", Manifest: yamlDocument(gadgetManifest)})
	if err != nil || !got.GetAccepted() {
		w.t.Fatalf("the gadget was not accepted: %v %v", got, err)
	}
	return w
}

// texts are the violations as an API server prints them.
func texts(found []*crdevalv1.Violation) string {
	lines := make([]string, len(found))
	for i, v := range found {
		lines[i] = v.GetField() + ": " + v.GetMessage()
	}
	return strings.Join(lines, "\n")
}

// TestUpdates: what an update answers over both faces: rejected violations and ratcheted ones, in place and with their rules.
func TestUpdates(t *testing.T) {
	w := start(t, nil).withGadget()
	for _, c := range []struct {
		name, old, object, subresource string
		rejected, ratcheted            string
	}{
		{name: "creation", object: `,"spec":{"color":"red","least":1,"most":2,"size":6}`},
		{
			name: "creation, broken rules", object: `,"spec":{"color":"red","least":3,"most":2,"size":7}`,
			rejected: "spec.least: Forbidden: least is more than most\nspec.size: Invalid value: 7: sizes are even",
		},
		{name: "update", old: `,"spec":{"color":"red"}`, object: `,"spec":{"color":"red","size":8}`},
		{
			name: "update, a transition that is not allowed", old: `,"spec":{"color":"red"}`, object: `,"spec":{"color":"blue"}`,
			rejected: `spec.color: Invalid value: "blue": was red`,
		},
		{
			name: "update, ratcheted", old: `,"spec":{"size":3,"least":1}`, object: `,"spec":{"size":3,"least":2}`,
			ratcheted: "spec.size: Invalid value: 3: spec.size in body should be greater than or equal to 5\nspec.size: Invalid value: 3: sizes are even",
		},
		{
			name: "update, changed from wrong to wrong", old: `,"spec":{"size":3}`, object: `,"spec":{"size":1}`,
			rejected: "spec.size: Invalid value: 1: spec.size in body should be greater than or equal to 5\nspec.size: Invalid value: 1: sizes are even",
		},
		{name: "update, the status is not the client's", old: `,"status":{"runs":2}`, object: `,"status":{"runs":1}`},
		{
			name: "status", old: `,"status":{"runs":2}`, object: `,"status":{"runs":1}`, subresource: "status",
			rejected: "status.runs: Invalid value: 1: runs only grow",
		},
		{name: "status, the spec is not the client's", old: `,"spec":{"color":"red"}`, object: `,"spec":{"color":"blue"},"status":{"runs":1}`, subresource: "status"},
		{
			name: "a name that changes", old: `,"spec":{}`, object: `,"metadata":{"name":"y","namespace":"default","resourceVersion":"1"}`,
			rejected: `metadata.name: Invalid value: "y": field is immutable` + "\n" + `metadata.name: Invalid value: "y": field is immutable`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			item := creation(gadget(c.object))
			body := fmt.Sprintf(`{"items":[{"create":{"object":%s}}]}`, gadget(c.object))
			if c.old != "" {
				item = update(gadget(c.object), gadget(c.old), c.subresource)
				body = fmt.Sprintf(`{"items":[{"update":{"object":%s,"oldObject":%s,"subresource":%q}}]}`, gadget(c.object), gadget(c.old), c.subresource)
			}
			over, err := w.evaluation.Validate(context.Background(), &crdevalv1.ValidateRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Items: []*crdevalv1.WriteItem{item}})
			if err != nil {
				t.Fatal(err)
			}
			var rest crdevalv1.ValidateResponse
			w.do("POST", toValidate, body).into(t, &rest)
			for face, r := range map[string]*crdevalv1.ValidateResponse{"gRPC": over, "REST": &rest} {
				v := r.GetResults()[0].GetVerdict()
				if got := texts(v.GetViolations()); got != c.rejected || v.GetAllowed() != (c.rejected == "") {
					t.Errorf("%s: %v\n%s\nwant\n%s", face, r.GetResults()[0], got, c.rejected)
				}
				if got := texts(v.GetRatcheted()); got != c.ratcheted {
					t.Errorf("%s: ratcheted\n%s\nwant\n%s", face, got, c.ratcheted)
				}
				text := gadget(c.object)
				if face == "REST" {
					text = body
				}
				for _, f := range append(v.GetRatcheted(), v.GetViolations()...) {
					if p := f.GetPosition(); p == nil || p.GetLine() != 1 || p.GetOffset() != int64(p.GetColumn()-1) || p.GetOffset() >= int64(len(text)) {
						t.Errorf("%s: %v", face, f)
					}
				}
			}
		})
	}
}

// TestRuleOfAViolation: a broken rule is named, with its place in the schema.
func TestRuleOfAViolation(t *testing.T) {
	w := start(t, nil).withGadget()
	var r crdevalv1.ValidateResponse
	w.do("POST", toValidate, `{"items":[{"create":{"object":`+gadget(`,"spec":{"least":3,"most":2}`)+`}}]}`).into(t, &r)
	found := r.GetResults()[0].GetVerdict().GetViolations()
	if len(found) != 1 {
		t.Fatalf("%v", found)
	}
	v := found[0]
	if v.GetType() != "FieldValueForbidden" || string(v.GetBadValue().GetJson()) != `""` || v.GetStep() != crdevalv1.PipelineStep_PIPELINE_STEP_RULE || v.GetPointer() != "/spec/least" ||
		v.GetSchemaPointer() != "/properties/spec/x-kubernetes-validations/0" {
		t.Errorf("%v", v)
	}
	if rule := v.GetRule(); rule.GetIndex() != 0 || rule.GetReason() != "FieldValueForbidden" || !strings.HasPrefix(rule.GetRule(), "!has(self.least)") {
		t.Errorf("%v", rule)
	}
}

// TestBadUpdates: what an item can have wrong that makes it an update. The call succeeds, and the item alone fails.
func TestBadUpdates(t *testing.T) {
	w := start(t, nil).withGadget()
	object := jsonDocument(gadget(``))
	for _, c := range []struct {
		name   string
		item   *crdevalv1.WriteItem
		code   codes.Code
		reason string
	}{
		{"empty old object", &crdevalv1.WriteItem{Operation: &crdevalv1.WriteItem_Update{Update: &crdevalv1.Update{Object: object, OldObject: &crdevalv1.Document{}}}}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		{"malformed old object", &crdevalv1.WriteItem{Operation: &crdevalv1.WriteItem_Update{Update: &crdevalv1.Update{Object: object, OldObject: jsonDocument(`{"apiVersion":`)}}}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		{"malformed old YAML", &crdevalv1.WriteItem{Operation: &crdevalv1.WriteItem_Update{Update: &crdevalv1.Update{Object: object, OldObject: yamlDocument("a: [")}}}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		{"huge old object", &crdevalv1.WriteItem{Operation: &crdevalv1.WriteItem_Update{Update: &crdevalv1.Update{Object: object, OldObject: jsonDocument(gadget(`,"x":"` + hugeString + `"`))}}}, codes.ResourceExhausted, "LIMIT_EXCEEDED"},
		{"alias bomb as old object", &crdevalv1.WriteItem{Operation: &crdevalv1.WriteItem_Update{Update: &crdevalv1.Update{Object: object, OldObject: yamlDocument(bombYAML)}}}, codes.ResourceExhausted, "LIMIT_EXCEEDED"},
		{"old object of another kind", &crdevalv1.WriteItem{Operation: &crdevalv1.WriteItem_Update{Update: &crdevalv1.Update{Object: object, OldObject: jsonDocument(cronTab(`{}`))}}}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		{"old object of another name", &crdevalv1.WriteItem{Operation: &crdevalv1.WriteItem_Update{Update: &crdevalv1.Update{Object: object, OldObject: jsonDocument(strings.Replace(gadget(``), `"x"`, `"y"`, 1))}}, Name: "x"}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		{"old object of an unknown version", &crdevalv1.WriteItem{Operation: &crdevalv1.WriteItem_Update{Update: &crdevalv1.Update{Object: object, OldObject: jsonDocument(strings.Replace(gadget(``), "com/v1", "com/v7", 1))}}}, codes.NotFound, "VERSION_NOT_FOUND"},
		{"old object alone", &crdevalv1.WriteItem{Operation: &crdevalv1.WriteItem_Update{Update: &crdevalv1.Update{OldObject: object}}}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		{"scale without a Scale", &crdevalv1.WriteItem{Operation: &crdevalv1.WriteItem_Update{Update: &crdevalv1.Update{OldObject: object, Subresource: "scale"}}}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		{"patch without an old object", &crdevalv1.WriteItem{Operation: &crdevalv1.WriteItem_Patch{Patch: &crdevalv1.Patch{Type: crdevalv1.PatchType_PATCH_TYPE_MERGE, Patch: jsonDocument(`{}`)}}}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		{"patch without a type", &crdevalv1.WriteItem{Operation: &crdevalv1.WriteItem_Patch{Patch: &crdevalv1.Patch{Patch: jsonDocument(`{}`), OldObject: object}}}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		{"patch of an unknown type", &crdevalv1.WriteItem{Operation: &crdevalv1.WriteItem_Patch{Patch: &crdevalv1.Patch{Type: 9, Patch: jsonDocument(`{}`), OldObject: object}}}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		{"patch without a document", &crdevalv1.WriteItem{Operation: &crdevalv1.WriteItem_Patch{Patch: &crdevalv1.Patch{Type: crdevalv1.PatchType_PATCH_TYPE_MERGE, OldObject: object}}}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		{"patch with an empty document", &crdevalv1.WriteItem{Operation: &crdevalv1.WriteItem_Patch{Patch: &crdevalv1.Patch{Type: crdevalv1.PatchType_PATCH_TYPE_MERGE, Patch: &crdevalv1.Document{}, OldObject: object}}}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		{"unknown subresource", &crdevalv1.WriteItem{Operation: &crdevalv1.WriteItem_Update{Update: &crdevalv1.Update{Object: object, OldObject: object, Subresource: "Status"}}}, codes.InvalidArgument, "INVALID_ARGUMENT"},
	} {
		t.Run(c.name, func(t *testing.T) {
			good := &crdevalv1.WriteItem{Operation: &crdevalv1.WriteItem_Update{Update: &crdevalv1.Update{Object: object, OldObject: object}}}
			request := &crdevalv1.ValidateRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Items: []*crdevalv1.WriteItem{good, c.item, good}}
			got, err := w.evaluation.Validate(context.Background(), request)
			if err != nil {
				t.Fatal(err)
			}
			if body, err := (gateway.Marshaler{}).Marshal(request); err == nil && json.Valid(body) { // what REST can say
				var rest crdevalv1.ValidateResponse
				w.do("POST", toValidate, string(body)).into(t, &rest)
				st := rest.GetResults()[1].GetError()
				if want := got.GetResults()[1].GetError(); st.GetCode() != want.GetCode() || st.GetMessage() != want.GetMessage() || reason(t, status.FromProto(st)) != c.reason {
					t.Errorf("REST: %v, want %v", rest.GetResults()[1], want)
				}
			}
			for _, i := range []int{0, 2} {
				if !got.GetResults()[i].GetVerdict().GetAllowed() {
					t.Errorf("the good item beside it: %v", got.GetResults()[i])
				}
			}
			st := status.FromProto(got.GetResults()[1].GetError())
			if st.Code() != c.code || reason(t, st) != c.reason || st.Message() == "" || len(st.Message()) > 4096 {
				t.Errorf("got %v, want %s %s", got.GetResults()[1], c.code, c.reason)
			}
			t.Log(st.Message())
		})
	}
	mixed, err := w.evaluation.Validate(context.Background(), &crdevalv1.ValidateRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Items: []*crdevalv1.WriteItem{{Operation: &crdevalv1.WriteItem_Update{Update: &crdevalv1.Update{Object: object, OldObject: yamlDocument(
		"apiVersion: example.com/v1alpha1\nkind: Gadget\nmetadata: {name: x, namespace: default, resourceVersion: '1'}\n",
	)}}}}})
	if err != nil || !mixed.GetResults()[0].GetVerdict().GetAllowed() {
		t.Errorf("an old object in YAML, of another version: %v %v", mixed, err)
	}
	missing, err := w.evaluation.Validate(context.Background(), &crdevalv1.ValidateRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Items: []*crdevalv1.WriteItem{
		{Crd: "gadgets.example.com", Version: "v1alpha1", Operation: &crdevalv1.WriteItem_Update{Update: &crdevalv1.Update{Object: object, OldObject: object, Subresource: "status"}}},
	}})
	if err != nil || missing.GetResults()[0].GetVerdict().GetRejection().GetCode() != http.StatusNotFound {
		t.Errorf("a version without the subresource: %v %v", missing, err)
	}
}
