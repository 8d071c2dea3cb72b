package api_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// summary is a trace in a line: where, what rule, what became of it.
func summary(traces []*crdevalv1.RuleTrace) string {
	lines := make([]string, len(traces))
	for i, t := range traces {
		why := t.GetMessage()
		if t.GetSkipped() != "" {
			why = "skipped"
		}
		_, rule, _ := strings.Cut(t.GetSchemaPointer(), "/x-")
		lines[i] = fmt.Sprintf("%s /x-%s %s %s", t.GetPointer(), rule,
			strings.TrimPrefix(t.GetOutcome().String(), "RULE_OUTCOME_"), why)
	}
	return strings.Join(lines, "\n")
}

// TestTraces: what the rules of an item did, as the call asks, over both faces alike.
func TestTraces(t *testing.T) {
	w := start(t, nil).withGadget()
	for _, c := range []struct {
		name, old, object string
		trace             crdevalv1.TraceMode
		want              string
	}{
		{name: "none", object: `,"spec":{"least":3,"most":2}`, trace: crdevalv1.TraceMode_TRACE_MODE_NONE},
		{
			name: "failed", object: `,"spec":{"least":3,"most":2,"size":8}`, trace: crdevalv1.TraceMode_TRACE_MODE_FAILED,
			want: "/spec /x-kubernetes-validations/0 FAILED least is more than most",
		},
		{name: "failed, none did", object: `,"spec":{"size":8}`, trace: crdevalv1.TraceMode_TRACE_MODE_FAILED},
		{
			name: "all", object: `,"spec":{"color":"red","least":1,"most":2,"size":7}`, trace: crdevalv1.TraceMode_TRACE_MODE_ALL,
			want: "/spec /x-kubernetes-validations/0 PASSED \n/spec/color /x-kubernetes-validations/0 SKIPPED skipped\n/spec/size /x-kubernetes-validations/0 FAILED sizes are even",
		},
		{
			name: "all, ratcheted", old: `,"spec":{"color":"red","size":7}`, object: `,"spec":{"color":"red","size":7,"least":1}`, trace: crdevalv1.TraceMode_TRACE_MODE_ALL,
			want: "/spec /x-kubernetes-validations/0 PASSED \n/spec/color /x-kubernetes-validations/0 PASSED \n/spec/size /x-kubernetes-validations/0 RATCHETED sizes are even",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			request := &crdevalv1.ValidateRequest{
				Context: &crdevalv1.EvaluationContext{Catalog: "default", Options: &crdevalv1.EvaluationOptions{Trace: c.trace}}, Items: []*crdevalv1.WriteItem{{Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: jsonDocument(gadget(c.object))}}}},
			}
			body := fmt.Sprintf(`{"items":[{"create":{"object":%s}}],"context":{"options":{"trace":%q}}}`, gadget(c.object), c.trace)
			if c.old != "" {
				request.Items[0] = update(gadget(c.object), gadget(c.old), "")
				body = fmt.Sprintf(`{"items":[{"update":{"object":%s,"oldObject":%s}}],"context":{"options":{"trace":%q}}}`, gadget(c.object), gadget(c.old), c.trace)
			}
			over, err := w.evaluation.Validate(context.Background(), request)
			if err != nil {
				t.Fatal(err)
			}
			var rest crdevalv1.ValidateResponse
			w.do("POST", toValidate, body).into(t, &rest)
			verdict := over.GetResults()[0].GetVerdict()
			got := verdict.GetRuleTraces().GetTraces()
			if text := summary(got); text != c.want || verdict.GetRuleTraces().GetOmitted() != 0 {
				t.Errorf("%v\n%s\nwant\n%s", over.GetResults()[0], text, c.want)
			}
			also := rest.GetResults()[0].GetVerdict().GetRuleTraces().GetTraces()
			if len(also) != len(got) {
				t.Fatalf("REST: %v, gRPC: %v", also, got)
			}
			for i := range got {
				if !proto.Equal(got[i], also[i]) {
					t.Errorf("REST: %v, gRPC: %v", also[i], got[i])
				}
			}
		})
	}
}

// TestTraceSteps: values and errors of sub-expressions, the operand that decided, and the cost.
func TestTraceSteps(t *testing.T) {
	w := start(t, nil).withGadget()
	got, err := w.evaluation.Validate(context.Background(), &crdevalv1.ValidateRequest{
		Context: &crdevalv1.EvaluationContext{Catalog: "default", Options: &crdevalv1.EvaluationOptions{Trace: crdevalv1.TraceMode_TRACE_MODE_FAILED, View: crdevalv1.ObjectView_OBJECT_VIEW_NONE}}, Items: []*crdevalv1.WriteItem{{Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: jsonDocument(gadget(`,"spec":{"least":3,"most":2}`))}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	trace := got.GetResults()[0].GetVerdict().GetRuleTraces().GetTraces()[0]
	if trace.GetCost() <= 0 || trace.GetRule().GetReason() != "FieldValueForbidden" || trace.GetOmittedSteps() != 0 {
		t.Errorf("%v", trace)
	}
	steps := map[string]*crdevalv1.TraceStep{}
	for _, s := range trace.GetSteps() {
		steps[s.GetExpression()] = s
	}
	compared := steps["self.least <= self.most"]
	if string(compared.GetValue().GetJson()) != "false" || int(compared.GetOffset()) != strings.Index(trace.GetRule().GetRule(), "self.least <=") {
		t.Errorf("%v in %v", compared, trace)
	}
	if whole := steps[trace.GetRule().GetRule()]; string(whole.GetValue().GetJson()) != "false" || !whole.GetDecisive() {
		t.Errorf("%v in %v", whole, trace)
	}
	if s := steps["self.least"]; string(s.GetValue().GetJson()) != "3" {
		t.Errorf("%v in %v", s, trace)
	}
	info, err := w.server.GetServerInfo(context.Background(), &crdevalv1.GetServerInfoRequest{})
	if l := info.GetLimits(); err != nil || l.GetMaxTraces() <= 0 || l.GetMaxTraceSteps() <= 0 || l.GetMaxTraceValueBytes() <= 0 {
		t.Errorf("%v, %v", l, err)
	}
}
