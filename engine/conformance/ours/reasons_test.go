package ours

import (
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/conformance/oracle"
)

// TestReasons checks that the checks of reasons find a rejection without a violation, and missing and wrong positions.
func TestReasons(t *testing.T) {
	at := func(line, column, offset int) *engine.Position {
		return &engine.Position{Line: line, Column: column, Offset: offset}
	}
	inJSON := oracle.Request{Op: oracle.Create, Body: []byte("{\"a\": [1,\n {\"é\": 2, \"b/c\": null}]}")}
	inYAML := oracle.Request{Op: oracle.Create, YAML: true, Body: []byte("a:\n- 1\n- {é: 2, b/c: null}\n")}
	update, status := inJSON, inJSON
	update.Op, status.Op = oracle.Update, oracle.Status
	for _, c := range []struct {
		name, pointer string
		request       oracle.Request
		at            *engine.Position
		want          string // a part of the difference, or empty
	}{
		{"value in JSON", "/a/1/b~1c", inJSON, at(2, 18, 29), ""},
		{"key in JSON", "/a/1/b~1c", inJSON, at(2, 11, 22), ""},
		{"item in JSON", "/a/0", inJSON, at(1, 8, 7), ""},
		{"parent in JSON", "/a/1/b~1c", inJSON, at(2, 2, 12), "is not that of"},
		{"missing value in JSON", "/a/1/d", inJSON, at(2, 2, 12), ""},
		{"missing value without a position", "/a/1/d", inJSON, nil, ""},
		{"no position in JSON", "/a/0", inJSON, nil, "has no position"},
		{"outside", "/a/0", inJSON, at(1, 1, 1000), "is not in the document"},
		{"value in YAML", "/a/1/b~1c", inYAML, at(3, 15, 23), ""},
		{"key in YAML", "/a/1/b~1c", inYAML, at(3, 10, 18), ""},
		{"another value in YAML", "/a/1/b~1c", inYAML, at(3, 7, 14), "is not that of"},
		{"no position in YAML", "/a/1/é", inYAML, nil, "has no position"},
		{"no position in an update", "/a/0", update, nil, "has no position"},
		{"kept by an update of the status", "/a/0", status, nil, ""},
	} {
		v := &engine.Verdict{Rejection: &engine.Rejection{}, Violations: []engine.Violation{{Type: "FieldValueInvalid", Pointer: c.pointer, Position: c.at}}}
		diffs := strings.Join(new(Definition).reasons(c.request, v), "\n")
		if c.want == "" && diffs != "" || !strings.Contains(diffs, c.want) {
			t.Errorf("%s: %q, want %q", c.name, diffs, c.want)
		}
	}
	if diffs := new(Definition).reasons(inJSON, &engine.Verdict{Rejection: &engine.Rejection{}}); len(diffs) != 1 {
		t.Errorf("no violation: %q", diffs)
	}
}
