package workspace

import (
	"fmt"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

const ranges = `a: 1 # c
on: x
1.50: two words
  on two lines # c
0x10: 'q''s'
no: "d\"s" # c
? key
: [1, {b: c, "d e": [f]}]
? |
  block
: end
~x: &n !!str tagged
missing:
anchored: &o
  p: q # c

  r: |
    text

    more

  s:
  - t
  -   u: v
      w: >-2
           x
alias: *o
merge:
  <<: *o
  own: 1
  p: over
flow: {<<: *o, own: 2, é: ü}
seq:
- - deep
-
pairs: [g: h]
last: |+
  end

`

// TestRange checks the texts of the ranges of keys and values.
func TestRange(t *testing.T) {
	expected := map[string]string{
		"/a": "a|1", "/true": "on|x", "/1.5": "1.50|two words\n  on two lines", "/16": "0x10|'q''s'", "/false": `no|"d\"s"`,
		"/key": `key|[1, {b: c, "d e": [f]}]|collection flow`, "/key/0": "|1|flow", "/key/1": `|{b: c, "d e": [f]}|collection flow`,
		"/key/1/b": "b|c|flow", "/key/1/d e": `"d e"|[f]|collection flow`, "/key/1/d e/0": "|f|flow",
		"/block\n": "|\n  block|end", "/~0x": "~x|tagged", "/missing": "missing|", "/alias": "alias|*o",
		"/anchored":   "anchored|p: q # c\n\n  r: |\n    text\n\n    more\n\n  s:\n  - t\n  -   u: v\n      w: >-2\n           x|collection",
		"/anchored/p": "p|q", "/anchored/r": "r||\n    text\n\n    more", "/anchored/s/0": "|t", "/anchored/s/1": "|u: v\n      w: >-2\n           x|collection",
		"/anchored/s/1/w": "w|>-2\n           x", "/alias/p": "p|q|shared", "/merge/own": "own|1", "/merge/p": "p|over",
		"/merge/r": "r||\n    text\n\n    more|shared", "/merge/s/1/u": "u|v|shared", "/flow/own": "own|2|flow", "/flow/é": "é|ü|flow",
		"/flow/s/0": "|t|shared", "/seq": "seq|- - deep\n-|collection", "/seq/0": "|- deep|collection", "/seq/0/0": "|deep", "/seq/1": "|",
		"/pairs/0": "|g: h|collection flow", "/pairs/0/g": "g|h|flow", "/last": "last||+\n  end",
		"/a/b": "none: a|1", "/nothing": "none: |" + strings.TrimRight(ranges, "\n") + "|collection", "/seq/7": "none: seq|- - deep\n-|collection",
	}
	inJSON := `{"a": 1, "b\"\\" : {"c" :[ true, {}]}, "": "x", "e": "f" }`
	wantJSON := map[string]string{
		"/a": `"a"|1|flow`, `/b"\`: `"b\"\\"|{"c" :[ true, {}]}|collection flow`, `/b"\/c`: `"c"|[ true, {}]|collection flow`, `/b"\/c/0`: "|true|flow",
		"/": `""|"x"|flow`, "/e": `"e"|"f"|flow`, "": "|" + inJSON + "|collection flow", "/x": "none: |" + inJSON + "|collection flow",
	}
	item := func(text string) string { return strings.ReplaceAll(text, "\n", "\n  ") }
	for name, c := range map[string]struct {
		content string
		number  int
		indent  bool
		want    map[string]string
	}{
		"a document":      {ranges, 0, false, expected},
		"a later one":     {"# ä\na: 1\n---\n" + ranges, 1, false, expected},
		"an item":         {listHead + "- a: b\n- " + item(ranges) + "\n", 1, true, expected},
		"a JSON document": {inJSON, 0, false, wantJSON},
		"a JSON item":     {`{"kind": "List", "items": [{"ä": 1}, ` + inJSON + `]}`, 1, false, wantJSON},
		"CRLF":            {"a: 1\r\nb: |\r\n  c\r\n\r\nd:\r\n- e\r\n", 0, false, map[string]string{"/b": "b||\r\n  c", "/d": "d|- e|collection", "/d/0": "|e"}},
		"BOM":             {"\ufeffa: 1\nb:\n  é: [x]\n", 0, false, map[string]string{"/b/é": "é|[x]|collection flow", "/a": "a|1"}},
	} {
		m := Read([]byte(c.content))[c.number]
		for pointer, want := range c.want {
			r, ok := m.Range(pointer)
			text := func(s tree.Span) string { return c.content[s.Begin:s.End] }
			got := text(r.Key) + "|" + text(r.Value)
			if flags := strings.Fields(fmt.Sprint(word(r.Collection, "collection"), word(r.Flow, "flow"), word(r.Shared, "shared"))); len(flags) > 0 {
				got += "|" + strings.Join(flags, " ")
			}
			if !ok {
				got = "none: " + got
			}
			if c.indent {
				want = item(want)
			}
			if squeeze(got) != squeeze(want) {
				t.Errorf("%s: %q has the range %q, want %q", name, pointer, got, want)
			}
		}
	}
	if _, ok := New(engine.YAML([]byte("a: ["))).Range("/a"); ok {
		t.Error("a document that cannot be read has a range")
	}
}

func word(is bool, name string) string {
	if is {
		return " " + name
	}
	return ""
}

// squeeze removes white space at the ends of lines.
func squeeze(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}
