package gateway

import (
	"errors"
	"strings"
	"testing"

	yaml "go.yaml.in/yaml/v3"

	"github.com/crdeval/crdeval/engine/value"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// TestManyFaultyObjectsOnOneLine: offsets are found in one pass over the line.
func TestManyFaultyObjectsOnOneLine(t *testing.T) {
	const n = 1_000
	b := &body{
		data: []byte("items: [" + strings.Repeat("{object: {a: 1, a: 2}},", n) + "{}]\n"), yaml: true, limits: value.Limits{MaxBytes: 64 << 20}, lists: map[string]ListLimit{},
	}
	if _, faulty, err := b.faultyObjects(); err != nil || len(faulty) != n || string(faulty[n-1].text) != "{a: 1, a: 2}" {
		t.Errorf("%v, %d objects are faulty", err, len(faulty))
	}
}

// TestTooManyFaultyObjects: a list beyond its limit is rejected before any of its objects is looked at.
func TestTooManyFaultyObjects(t *testing.T) {
	b := &body{
		data: []byte("items: [" + strings.Repeat("{object: {a: 1, a: 2}},", 1000) + "{}]\n"), yaml: true, limits: value.Limits{MaxBytes: 64 << 20}, lists: DefaultLists(),
	}
	if list := new(listError); !errors.As(b.decode(&crdevalv1.ValidateRequest{}), &list) {
		t.Errorf("%v, want that there are too many items", list)
	}
	if _, faulty, err := b.faultyObjects(); faulty != nil || err == nil {
		t.Errorf("%d objects are faulty, %v", len(faulty), err)
	}
}

// TestYAMLOffsets: nodes may come in any order.
func TestYAMLOffsets(t *testing.T) {
	const text = "aé𝄞z\n\nb\r\nend"
	at := yamlOffsets{text: []byte(text), line: 1, column: 1}
	for _, c := range []struct {
		line, column int
		rest         string
	}{
		{1, 1, text}, {1, 4, "z\n\nb\r\nend"}, {1, 2, "é𝄞z\n\nb\r\nend"}, {1, 3, "𝄞z\n\nb\r\nend"}, {4, 2, "nd"}, {2, 1, "\nb\r\nend"},
		{3, 1, "b\r\nend"}, {1, 1, text}, {4, 4, ""}, {5, 1, ""},
	} {
		if got := text[at.offset(&yaml.Node{Line: c.line, Column: c.column}):]; got != c.rest {
			t.Errorf("%d:%d is at %q, want %q", c.line, c.column, got, c.rest)
		}
	}
}
