package gateway

import (
	"bytes"
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
		b := &body{yaml: true, source: source, request: &crdevalv1.ValidateRequest{Items: []*crdevalv1.EvaluationItem{{}}}}
		b.restorePositions(answer)
		found := answer.GetResults()[0].GetVerdict().GetViolations()
		if p := found[0].GetPosition(); p.GetLine() != c.line || p.GetColumn() != c.column {
			t.Errorf("%q is at %d:%d, want %d:%d", c.pointer, p.GetLine(), p.GetColumn(), c.line, c.column)
		}
		if found[1].GetPosition() != nil {
			t.Error("a violation without a position got one")
		}
	}
}

// TestShift: documents in a body, several of them on one line, in any order.
func TestShift(t *testing.T) {
	text := []byte("[{\"é\":1},\n {\"ü\":2}, {\"x\":\n3}, {\"z\":4}]")
	document := func(text []byte, part string) []byte {
		at := bytes.Index(text, []byte(part))
		return text[at : at+len(part)]
	}
	o := origin{text: text, line: 1}
	for _, c := range []struct {
		part           string
		line, column   int32 // in the document
		toLine, toColu int32
	}{
		{`{"é":1}`, 1, 6, 1, 7}, {`{"ü":2}`, 1, 6, 2, 7}, {"{\"x\":\n3}", 1, 1, 2, 11}, {"{\"x\":\n3}", 2, 1, 3, 1}, {`{"z":4}`, 1, 6, 3, 10}, {`{"ü":2}`, 1, 2, 2, 3},
	} {
		d := document(text, c.part)
		at := &crdevalv1.Position{Line: c.line, Column: c.column, Offset: 1}
		o.shift([]located{{Position: at}}, d)
		if at.GetLine() != c.toLine || at.GetColumn() != c.toColu || at.GetOffset() != int64(bytes.Index(text, []byte(c.part))+1) {
			t.Errorf("%d:%d of %s is at %d:%d, byte %d, want %d:%d", c.line, c.column, c.part, at.GetLine(), at.GetColumn(), at.GetOffset(), c.toLine, c.toColu)
		}
	}
}
