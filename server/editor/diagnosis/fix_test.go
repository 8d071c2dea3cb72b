package diagnosis

import (
	"encoding/json"
	"testing"

	"github.com/crdeval/crdeval/engine/workspace"
)

// documentOf returns an item of a text, from 1, or for 0 its document.
func documentOf(t *testing.T, text string, item, budget int) *Document {
	t.Helper()
	for _, m := range workspace.Read([]byte(text)) {
		if m.Item == item {
			return New(m, budget)
		}
	}
	t.Fatalf("%q has no item %d", text, item)
	return nil
}

// TestChange checks which values are offered, and that edits do not change other values. The tests of
// server/editor/playground/page and server/editor/lsp apply fixes of real violations.
func TestChange(t *testing.T) {
	one := []json.RawMessage{json.RawMessage(`"b"`), json.RawMessage(`"b"`)}
	for name, tc := range map[string]struct {
		text, pointer string
		item, budget  int
		want          string // the first edited text, "": no fix
	}{
		"a value":               {"a: 1\n", "/a", 0, 100, "a: b\n"},
		"quotes stay":           {"a: \"c\" # d\n", "/a", 0, 100, "a: \"b\" # d\n"},
		"JSON":                  {`{"a": 1}`, "/a", 0, 100, `{"a": "b"}`},
		"an item of a List":     {"kind: List\nitems:\n- a: 1\n- a: 1\n", "/a", 2, 100, "kind: List\nitems:\n- a: 1\n- a: b\n"},
		"a collection":          {"a:\n  c: 1\n  d: 2\ne: 3\n", "/a/c", 0, 100, "a:\n  c: b\n  d: 2\ne: 3\n"},
		"a scalar of two lines": {"a: 1\n  2 # c\ne: 3\n", "/a", 0, 100, "a: b # c\ne: 3\n"},
		"an alias of the value": {"a: &x 1\nc: *x\n", "/c", 0, 100, "a: &x 1\nc: b\n"},
		"an anchor":             {"a: &x 1\nc: *x\n", "/a", 0, 100, ""},
		"no such field":         {"a: 1\n", "/b", 0, 100, ""},
		"invalid YAML":          {"a: [\n", "/a", 0, 100, ""},
		"over the budget":       {"a: 1\n", "/a", 0, 4, ""},
	} {
		t.Run(name, func(t *testing.T) {
			list := documentOf(t, tc.text, tc.item, tc.budget).Change(tc.pointer, one...)
			if tc.want == "" || len(list) != 1 {
				if tc.want != "" || len(list) != 0 {
					t.Fatalf("%d fixes: %+v", len(list), list)
				}
				return
			}
			if got, ok := Apply(tc.text, list[0].Edits); !ok || got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// TestApply checks edits that do not fit.
func TestApply(t *testing.T) {
	for name, edits := range map[string][]Edit{
		"overlap": {{0, 2, ""}, {1, 3, ""}}, "not sorted": {{2, 3, ""}, {0, 1, ""}}, "reversed": {{2, 1, ""}},
		"after the end": {{0, 5, ""}}, "before the begin": {{-1, 1, ""}},
	} {
		if got, ok := Apply("abcd", edits); ok {
			t.Errorf("%s: %q", name, got)
		}
	}
}
