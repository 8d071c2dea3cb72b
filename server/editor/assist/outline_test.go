package assist

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/crdeval/crdeval/engine/testenv"
)

// FuzzOutline checks that the outline of any text is a tree whose nodes are inside of their parents and in order, that
// it has all fields of a valid document, and that the places of completions, hovers and symbols are in the text.
func FuzzOutline(f *testing.F) {
	for _, text := range []string{
		"a: 1\nb:\n- c: {d: [e, f]}\n  g: |\n    h\n", object, "\ta: b\n",
		"{\"a\": {\"b\": [1, 2,]}", "- - a\n  - b\n- c", "a: 'x\nb: \"y", "0 ",
		"--- a\n...\n---\n&x a: !t *x", "? a\n: b\n", "a:\n    b\n  c\n d: e\n", "}{][,:#'\"|>-\n", "a: {b: 1\nc: d\n",
	} {
		f.Add(text, 3)
	}
	a := assistant(f, crd)
	f.Fuzz(func(t *testing.T, text string, offset int) {
		if len(text) > 1<<12 {
			return
		}
		docs := outline([]byte(text))
		if len(docs) == 0 {
			t.Fatal("no documents")
		}
		for _, d := range docs {
			checkNode(t, text, d.root)
		}
		checkFields(t, text, docs)
		offset = min(max(offset, 0), len(text))
		c := a.Complete(t.Context(), "", []byte(text), offset)
		if len(c.Items) > 0 && (c.Begin < 0 || offset < c.Begin || c.End < offset || c.End > len(text)) {
			t.Errorf("%q at %d: completions of %d to %d", text, offset, c.Begin, c.End)
		}
		h := a.Hover(t.Context(), "", []byte(text), offset)
		if h != nil && (h.Begin < 0 || h.Begin >= h.End || h.End > len(text)) {
			t.Errorf("%q at %d: hover of %d to %d", text, offset, h.Begin, h.End)
		}
		checkSymbols(t, text, Symbols([]byte(text)))
	})
}

// checkSymbols checks that symbols are in the text, and contain what identifies them.
func checkSymbols(t *testing.T, text string, list []Symbol) {
	t.Helper()
	for _, s := range list {
		if s.Begin < 0 || s.NameBegin < s.Begin || s.NameEnd < s.NameBegin || s.End < s.NameEnd || s.End > len(text) {
			t.Errorf("%q: symbol %+v", text, s)
		}
		checkSymbols(t, text, s.Children)
	}
}

// TestLongLine reads a line of 4 MB. It takes less than a second. If the time were quadratic in the length of the line, it
// would take more than half an hour, and go test would end the test.
func TestLongLine(t *testing.T) {
	testenv.SingleGoroutine(t)
	text := "{a: [" + strings.Repeat("{b: 1, c: d}, ", 300_000) + "{}]}"
	docs := outline([]byte(text))
	if n := docs[0].root.child("a").child("299999").child("c"); n.scalarText([]byte(text)) != "d" {
		t.Errorf("found %+v", n)
	}
}

func checkNode(t *testing.T, text string, n *node) {
	t.Helper()
	if n.start > n.keyEnd || n.begin > n.end || n.start > n.begin || n.end > len(text) || n.keyEnd > len(text) {
		t.Fatalf("%q: node %+v", text, n)
	}
	at := n.start
	for _, c := range n.children {
		if c.start < at || c.parent != n || max(c.end, c.keyEnd) > n.end {
			t.Fatalf("%q: child %+v of %+v after %d", text, c, n, at)
		}
		at = max(c.end, c.keyEnd)
		checkNode(t, text, c)
	}
}

// checkFields compares the outline of a JSON text with the decoded value.
func checkFields(t *testing.T, text string, docs []section) {
	t.Helper()
	var root any
	if json.Unmarshal([]byte(text), &root) != nil || strings.ContainsAny(text, "\t\r\\") || !utf8.ValidString(text) {
		return
	}
	var compare func(v any, n *node)
	compare = func(v any, n *node) {
		switch v := v.(type) {
		case map[string]any:
			for name, member := range v {
				if of := n.child(name); of == nil {
					t.Errorf("%q: no node for %q", text, name)
				} else {
					compare(member, of)
				}
			}
		case []any:
			if len(n.children) != len(v) {
				t.Errorf("%q: %d items, want %d", text, len(n.children), len(v))
				return
			}
			for i := range v {
				compare(v[i], n.children[i])
			}
		}
	}
	compare(root, docs[0].root)
}
