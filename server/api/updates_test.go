package api_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/server/gateway/codec"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
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

// TestPatchWithoutType: the message has the names of the API.
func TestPatchWithoutType(t *testing.T) {
	w := start(t, nil).withGadget()
	var r crdevalv1.ValidateResponse
	w.do("POST", toValidate, `{"items":[{"patch":{"patch":{},"oldObject":`+gadget(``)+`}}]}`).into(t, &r)
	if st := r.GetResults()[0].GetError(); st.GetMessage() != "patch.type is required: PATCH_TYPE_MERGE or PATCH_TYPE_JSON" {
		t.Errorf("%v", st)
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
		{"empty old object", &crdevalv1.WriteItem{Write: &crdevalv1.WriteItem_Update{Update: &crdevalv1.Update{Object: object, OldObject: &crdevalv1.Document{}}}}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		{"malformed old YAML", &crdevalv1.WriteItem{Write: &crdevalv1.WriteItem_Update{Update: &crdevalv1.Update{Object: object, OldObject: yamlDocument("a: [")}}}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		{"huge old object", &crdevalv1.WriteItem{Write: &crdevalv1.WriteItem_Update{Update: &crdevalv1.Update{Object: object, OldObject: jsonDocument(gadget(`,"x":"` + hugeString + `"`))}}}, codes.ResourceExhausted, "LIMIT_EXCEEDED"},
		{"alias bomb as old object", &crdevalv1.WriteItem{Write: &crdevalv1.WriteItem_Update{Update: &crdevalv1.Update{Object: object, OldObject: yamlDocument(bombYAML)}}}, codes.ResourceExhausted, "LIMIT_EXCEEDED"},
		{"old object alone", &crdevalv1.WriteItem{Write: &crdevalv1.WriteItem_Update{Update: &crdevalv1.Update{OldObject: object}}}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		{"scale without a Scale", &crdevalv1.WriteItem{Write: &crdevalv1.WriteItem_Update{Update: &crdevalv1.Update{OldObject: object, Subresource: "scale"}}}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		{"patch without an old object", &crdevalv1.WriteItem{Write: &crdevalv1.WriteItem_Patch{Patch: &crdevalv1.Patch{Type: crdevalv1.PatchType_PATCH_TYPE_MERGE, Patch: jsonDocument(`{}`)}}}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		{"patch without a type", &crdevalv1.WriteItem{Write: &crdevalv1.WriteItem_Patch{Patch: &crdevalv1.Patch{Patch: jsonDocument(`{}`), OldObject: object}}}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		{"patch of an unknown type", &crdevalv1.WriteItem{Write: &crdevalv1.WriteItem_Patch{Patch: &crdevalv1.Patch{Type: 9, Patch: jsonDocument(`{}`), OldObject: object}}}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		{"patch without a document", &crdevalv1.WriteItem{Write: &crdevalv1.WriteItem_Patch{Patch: &crdevalv1.Patch{Type: crdevalv1.PatchType_PATCH_TYPE_MERGE, OldObject: object}}}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		{"patch with an empty document", &crdevalv1.WriteItem{Write: &crdevalv1.WriteItem_Patch{Patch: &crdevalv1.Patch{Type: crdevalv1.PatchType_PATCH_TYPE_MERGE, Patch: &crdevalv1.Document{}, OldObject: object}}}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		{"unknown subresource", &crdevalv1.WriteItem{Write: &crdevalv1.WriteItem_Update{Update: &crdevalv1.Update{Object: object, OldObject: object, Subresource: "Status"}}}, codes.InvalidArgument, "INVALID_ARGUMENT"},
	} {
		t.Run(c.name, func(t *testing.T) {
			good := &crdevalv1.WriteItem{Write: &crdevalv1.WriteItem_Update{Update: &crdevalv1.Update{Object: object, OldObject: object}}}
			request := &crdevalv1.ValidateRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Items: []*crdevalv1.WriteItem{good, c.item, good}}
			got, err := w.evaluation.Validate(context.Background(), request)
			if err != nil {
				t.Fatal(err)
			}
			if body, err := codec.Marshal(request); err == nil && json.Valid(body) { // what REST can say
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
}
