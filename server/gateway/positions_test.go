package gateway

import (
	"testing"

	"github.com/crdeval/crdeval/engine/value"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

func TestRelocate(t *testing.T) {
	const text = `items:
- object:
    spec:
      list:
      - a
      - b: 1
        c: 2
      "7": {x/y: [1,
        2]}
`
	_, source, err := value.YAMLToJSON([]byte(text), value.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		pointer      string
		line, column int32
	}{
		{"", 3, 5},
		{"/spec", 4, 7},
		{"/spec/list/0", 5, 9},
		{"/spec/list/1/c", 7, 12},
		{"/spec/list/1/missing", 6, 9},
		{"/spec/list/9", 5, 7},
		{"/spec/7/x~1y/1", 9, 9},
		{"/missing/0/x", 3, 5},
	} {
		answer := &crdevalv1.ValidateResponse{Results: []*crdevalv1.VerdictResult{{Result: &crdevalv1.VerdictResult_Verdict{Verdict: &crdevalv1.Verdict{
			Violations: []*crdevalv1.Violation{{Pointer: c.pointer, Position: &crdevalv1.Position{Line: 1, Column: 1}}, {}},
		}}}}}
		b := &body{yaml: true, source: source, request: &crdevalv1.ValidateRequest{Items: []*crdevalv1.Item{{}}}}
		b.pointIntoBody(answer)
		found := answer.GetResults()[0].GetVerdict().GetViolations()
		if p := found[0].GetPosition(); p.GetLine() != c.line || p.GetColumn() != c.column {
			t.Errorf("%q is at %d:%d, want %d:%d", c.pointer, p.GetLine(), p.GetColumn(), c.line, c.column)
		}
		if found[1].GetPosition() != nil {
			t.Error("a finding without a position got one")
		}
	}
}
