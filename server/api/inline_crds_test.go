package api_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// overlaid validates an object with inline CRDs.
func (w *wire) overlaid(object string, crds ...*crdevalv1.Document) (*crdevalv1.ValidateResponse, error) {
	return w.evaluation.Validate(w.t.Context(), &crdevalv1.ValidateRequest{
		Context: &crdevalv1.EvaluationContext{Catalog: "default", Crds: crds}, Items: []*crdevalv1.WriteItem{{Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: jsonDocument(object)}}}},
	})
}

// TestOverlay: what a call brings along is evaluated against, beside the catalog's or instead of it, over gRPC and REST, and leaves no trace.
func TestOverlay(t *testing.T) {
	w := start(t, nil).withCronTab()
	object := cronTab(`{"replicas": 5}`)
	lower := strings.Replace(crontabManifest, "minimum: 1", "minimum: 6", 1)
	got, err := w.overlaid(object, yamlDocument(lower))
	if err != nil || got.GetResults()[0].GetVerdict().GetAllowed() || len(got.GetResults()[0].GetVerdict().GetViolations()) != 1 {
		t.Fatalf("instead: %v, %v", got, err)
	}
	apple := `{"apiVersion":"example.com/v1","kind":"Apples","metadata":{"name":"a","namespace":"b"}}`
	got, err = w.overlaid(apple, yamlDocument(manifestOf("pears")), yamlDocument(manifestOf("apples")))
	if err != nil || !got.GetResults()[0].GetVerdict().GetAllowed() {
		t.Fatalf("beside: %v, %v", got, err)
	}
	var rest crdevalv1.ValidateResponse
	w.do("POST", toValidate, `{"items":[{"create":{"object":`+apple+`}}],"context":{"crds":[`+asJSONManifest("apples", "Namespaced")+`]}}`).into(t, &rest)
	if !rest.GetResults()[0].GetVerdict().GetAllowed() {
		t.Errorf("REST: %v", &rest)
	}
	pruned, err := w.evaluation.Prune(t.Context(), &crdevalv1.PruneRequest{
		Context: &crdevalv1.EvaluationContext{Catalog: "default", Crds: []*crdevalv1.Document{yamlDocument(manifestOf("apples"))}}, Items: []*crdevalv1.ObjectItem{{Object: jsonDocument(strings.TrimSuffix(apple, "}") + `,"spec":{}}`)}},
	})
	if err != nil || string(pruned.GetResults()[0].GetTransformed().GetObject().GetJson()) != apple {
		t.Errorf("pruned: %v, %v", pruned, err)
	}
	got, err = w.overlaid(object)
	if err != nil || !got.GetResults()[0].GetVerdict().GetAllowed() {
		t.Errorf("afterwards: %v, %v", got, err)
	}
	listed, err := w.registry.ListCrds(t.Context(), &crdevalv1.ListCrdsRequest{Catalog: "default"})
	if err != nil || len(listed.GetCrds()) != 1 || listed.GetCrds()[0].GetGeneration() != 1 {
		t.Errorf("registered: %v, %v", listed, err)
	}
}

// TestInlineCrdsRejected: a CRD that Kubernetes would reject fails the call, with its violations in the error as far as there is room.
func TestInlineCrdsRejected(t *testing.T) {
	w := start(t, nil).withCronTab()
	var many strings.Builder
	for i := range 500 {
		fmt.Fprintf(&many, "\n          p%d: {type: %s}", i, strings.Repeat("x", 100))
	}
	for name, c := range map[string]struct {
		crds          []*crdevalv1.Document
		code          codes.Code
		reason        string
		crd, field    string
		violations    int
		more, updates bool
	}{
		"one violation":   {[]*crdevalv1.Document{yamlDocument(manifestOf("pears")), yamlDocument(manifestOf("apples", "Namespaced", "Everywhere"))}, codes.InvalidArgument, "CRD_REJECTED", "apples.example.com", "spec.scope", 1, false, false},
		"an update":       {[]*crdevalv1.Document{yamlDocument(strings.Replace(crontabManifest, "kind: CronTab,", "kind: Cron,", 1))}, codes.InvalidArgument, "CRD_REJECTED", "crontabs.stable.example.com", "spec.names.kind", 1, false, true},
		"many violations": {[]*crdevalv1.Document{yamlDocument(manifestOf("apples", "type: object\n", "type: object\n        properties:"+many.String()+"\n"))}, codes.InvalidArgument, "CRD_REJECTED", "apples.example.com", "", 0, true, false},
		"another kind":    {[]*crdevalv1.Document{jsonDocument(`{}`)}, codes.InvalidArgument, "MANIFEST_UNREADABLE", "", "", 0, false, false},
		"unreadable":      {[]*crdevalv1.Document{yamlDocument(`a: [`)}, codes.InvalidArgument, "MANIFEST_UNREADABLE", "", "", 0, false, false},
		"too many":        {make([]*crdevalv1.Document, 17), codes.ResourceExhausted, "LIMIT_EXCEEDED", "", "", 0, false, false},
		"one is empty":    {[]*crdevalv1.Document{yamlDocument(manifestOf("pears")), {}}, codes.InvalidArgument, "INVALID_ARGUMENT", "", "", 0, false, false},
		"undecodable CRD": {[]*crdevalv1.Document{yamlDocument(manifestOf("apples", "Namespaced", "[1]"))}, codes.InvalidArgument, "CRD_REJECTED", "apples.example.com", "", 0, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := w.overlaid(cronTab(`{}`), c.crds...)
			st := status.Convert(err)
			if st.Code() != c.code || reason(t, st) != c.reason {
				t.Fatalf("%v", err)
			}
			if proto.Size(st.Proto()) > 4<<10 {
				t.Errorf("the error has %d bytes", proto.Size(st.Proto()))
			}
			var info *errdetails.ErrorInfo
			var report *crdevalv1.CrdReport
			for _, d := range st.Details() {
				switch d := d.(type) {
				case *errdetails.ErrorInfo:
					info = d
				case *crdevalv1.CrdReport:
					report = d
				}
			}
			if (report != nil) != (c.reason == "CRD_REJECTED") {
				t.Fatalf("the report is %v", report)
			}
			if report == nil {
				return
			}
			if info.GetMetadata()["crd"] != c.crd || (info.GetMetadata()["omitted_violations"] != "0") != c.more || report.GetUpdate() != c.updates {
				t.Errorf("%v, %v", info, report)
			}
			if n := len(report.GetViolations()); c.violations != 0 && n != c.violations || c.more && n == 0 || c.field != "" && report.GetViolations()[0].GetField() != c.field {
				t.Errorf("%v", report)
			}
		})
	}
	a := w.do("POST", toValidate, `{"items":[],"context":{"crds":[`+asJSONManifest("apples", "Everywhere")+`]}}`)
	if st := a.status(t); a.code != 422 || reason(t, st) != "CRD_REJECTED" || !strings.Contains(a.text, `"@type":"type.googleapis.com/crdeval.v1.CrdReport"`) || !strings.Contains(a.text, `"field":"spec.scope"`) {
		t.Errorf("REST: %d %s", a.code, a.text)
	}
}
