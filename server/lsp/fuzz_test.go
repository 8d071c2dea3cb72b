package lsp

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/crdeval/crdeval/engine/testenv"
)

// FuzzPositions compares the mapping of offsets and positions with one that encodes the text as UTF-16.
func FuzzPositions(f *testing.F) {
	for _, text := range []string{"", "a\nb", "a\r\nb\rc", "🚀\n🚀é", "\xff\xfe\n\xf0\x9f", "a\u2028b"} {
		f.Add(text, 1, uint32(1), uint32(1))
	}
	f.Fuzz(func(t *testing.T, text string, offset int, line, character uint32) {
		l := newLineIndex([]byte(text))
		p := l.position(offset)
		if offset >= 0 && offset <= len(text) && boundary(text, offset) {
			if want := referencePosition(text[:offset], strings.HasPrefix(text[offset:], "\n")); p != want {
				t.Errorf("position of %d in %q: %+v, want %+v", offset, text, p, want)
			}
			if at := l.offset(p); at != offset && !strings.ContainsAny(text[min(at, offset):max(at, offset)], "\r\n") {
				t.Errorf("offset of %+v in %q: %d, want %d", p, text, at, offset)
			}
		}
		at := l.offset(Position{line, character})
		if at < 0 || at > len(text) || !boundary(text, at) {
			t.Errorf("offset %d of line %d character %d in %q", at, line, character, text)
		}
	})
}

// boundary reports whether an offset is not inside a character.
func boundary(text string, offset int) bool {
	at := 0
	for at < offset {
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
	return at == offset
}

// referencePosition returns the position of the end of a text. newline says that a \n follows.
func referencePosition(before string, newline bool) Position {
	last := strings.HasSuffix(before, "\r") && newline
	if last {
		before = before[:len(before)-1]
	}
	lines := strings.Split(strings.ReplaceAll(strings.ReplaceAll(before, "\r\n", "\n"), "\r", "\n"), "\n")
	p := Position{
		Line: uint32(len(lines) - 1), Character: uint32(len(utf16.Encode([]rune(lines[len(lines)-1])))),
	}
	if last {
		p.Character++
	}
	return p
}

// FuzzEdits checks that incremental changes do what they do to the whole text.
func FuzzEdits(f *testing.F) {
	f.Add("a: 🚀\nb: c\n", "x\n", uint32(0), uint32(3), uint32(1), uint32(0))
	f.Fuzz(func(t *testing.T, text, insert string, line, character, endLine, endCharacter uint32) {
		r := Range{Position{line, character}, Position{endLine, endCharacter}}
		got := apply([]byte(text), []ContentChange{{&r, insert}})
		if len(got) < len(insert) || len(got) > len(text)+len(insert) || !bytes.Contains(got, []byte(insert)) {
			t.Errorf("%q in %q at %+v: %q", insert, text, r, got)
		}
		if whole := apply([]byte(text), []ContentChange{{nil, insert}}); string(whole) != insert {
			t.Errorf("%q, want %q", whole, insert)
		}
	})
}

// FuzzOutline checks that the outline of any text is a tree whose nodes are inside of their parents and in order, that
// it has all fields of a valid document, and that completion, fixes and symbols do not panic.
func FuzzOutline(f *testing.F) {
	for _, text := range []string{
		"a: 1\nb:\n- c: {d: [e, f]}\n  g: |\n    h\n", object, "{\"a\": {\"b\": [1, 2,]}", "- - a\n  - b\n- c", "a: 'x\nb: \"y",
		"--- a\n...\n---\n&x a: !t *x", "? a\n: b\n", "a:\n    b\n  c\n d: e\n", "}{][,:#'\"|>-\n", "a: {b: 1\nc: d\n", "\ta: b\n",
	} {
		f.Add(text, 3)
	}
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
		s := &server{}
		s.workspace.load(t.Context(), nil, Settings{}, map[string][]byte{"/crd.yaml": []byte(crd)})
		of := &file{uri: "file:///a.yaml", path: "/a.yaml", text: []byte(text)}
		p := &documentParams{Position: newLineIndex(of.text).position(offset)}
		p.Range = Range{p.Position, p.Position}
		for _, answer := range []func(context.Context, *file, *documentParams) (any, error){
			s.completion, s.hover, s.symbols, s.codeActions,
		} {
			if _, err := answer(t.Context(), of, p); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestLongLine reads a line of 4 MB. It takes less than a second. If the time were quadratic in the length of the line, it
// would take more than half an hour, and go test would end the test.
func TestLongLine(t *testing.T) {
	testenv.SingleGoroutine(t)
	text := "{a: [" + strings.Repeat("{b: 1, c: d}, ", 300_000) + "{}]}"
	docs := outline([]byte(text))
	if n, ok := docs[0].root.find("/a/299999/c"); !ok || text[n.begin:n.end] != "d" {
		t.Errorf("found %t: %+v", ok, n)
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
func checkFields(t *testing.T, text string, docs []document) {
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
