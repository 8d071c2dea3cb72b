package workspace

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/value"
)

func TestSplit(t *testing.T) {
	for name, tc := range map[string]struct {
		content string
		begins  []int // lines
	}{
		"one":               {"a: 1\n", []int{1}},
		"a comment before":  {"# c\n\na: 1\n", []int{3}},
		"two":               {"a: 1\n---\nb: 2\n", []int{1, 3}},
		"a marker at first": {"---\na: 1\n---\n# b\nb: 2\n", []int{2, 5}},
		"empty ones":        {"---\n---\n# c\n---\na: 1\n---\n", []int{5}},
		"the same twice":    {"a: 1\n---\na: 1\n", []int{1, 3}},
		"a list":            {"kind: List\nitems:\n- a: 1\n- b: 2\n", []int{3, 4}},
		"JSON":              {"\n{\"a\": 1}", []int{2}},
		"a list in JSON":    {"{\"kind\": \"List\", \"items\": [\n{},\n{}]}", []int{2, 3}},
		"JSON objects":      {"{\"a\": 1}\n{\"a\":\n1} {\"a\": 2}\n\n{}\n---\n{}\n", []int{1, 2, 3, 5, 7}},
		"JSON and text":     {"{\"a\": 1}\n{\"a\": 1}\n# c\n", []int{1}},
		"a null list":       {"kind: List\nitems: null\n", nil},
		"a null JSON list":  {`{"kind": "List", "items": null}`, nil},
		"no list":           {"kind: List\nitems: 1\n", []int{1}},
		"JSON on one line":  {"{} {}[]", []int{1, 1, 1}},
		"YAML with braces":  {"{kind: List, items: [{}, {a: 1}]}", []int{1, 1}},
		"no JSON item":      {"{\"kind\": \"List\", \"items\": [{}, {a: 1},\n{}]}", []int{1, 1, 2}}, // YAML
		"a broken item":     {"{\"kind\": \"List\", \"items\": [{}, {\"a\" 1}]}", []int{1}},
		"nothing":           {"", nil},
		"comments alone":    {"# a\n---\n# b\n", nil},
	} {
		var begins []int
		for _, d := range Split([]byte(tc.content)) {
			for _, m := range d.Manifests() {
				begins = append(begins, m.Line())
			}
		}
		if fmt.Sprint(begins) != fmt.Sprint(tc.begins) {
			t.Errorf("%s: they begin on lines %v, want %v", name, begins, tc.begins)
		}
	}
}

// Positions are those of the file, also in later documents and in items of lists.
func TestPositions(t *testing.T) {
	content := "# two\n---\na: 1\n---\nspec:\n  names: {kind: X}\n---\nkind: List\nitems:\n- spec:\n    a/b:\n    - x\n    - y\n"
	documents := Split([]byte(content))
	if len(documents) != 3 {
		t.Fatalf("%d documents", len(documents))
	}
	positions := func(d Document, pointer string, own engine.Position) string {
		for _, m := range d.Manifests() {
			p := m.Position(pointer, own)
			return fmt.Sprint(p.Line, ":", p.Column, " ", strings.SplitN(content[p.Offset:], "\n", 2)[0])
		}
		return ""
	}
	if got := positions(documents[1], "/spec/names/kind", engine.Position{Line: 3, Column: 17, Offset: 26}); got != "6:17 X}" {
		t.Error(got)
	}
	if got := positions(documents[2], "/spec/a~1b/1", engine.Position{}); got != "13:7 y" {
		t.Error(got)
	}
	if got := positions(documents[2], "", engine.Position{}); got != "10:3 spec:" {
		t.Error(got)
	}
}

// Positions in JSON are those of the file, also if several manifests share a line.
func TestPositionsInJSON(t *testing.T) {
	for _, content := range []string{
		`{"kind": "List", "items": [{"a": "ä"}, {"a": 1}, {"a": 2}]}`,
		"{\"kind\": \"List\",\n\"items\": [ {\"a\":\n0},{\"a\": 1}, {\"a\":\n 2}]}",
		`{"a": "ä"} {"a": 1}{"a": 2}`,
	} {
		next := 0
		for _, d := range Split([]byte(content)) {
			for _, m := range d.Manifests() {
				doc := value.Acquire()
				root, err := doc.ParseJSON(m.JSON(), value.Limits{})
				if err != nil {
					t.Fatal(err)
				}
				own := doc.PositionOf(doc.Field(root, "a"), value.Path{value.Name("a")})
				at := m.Position("/a", own)
				doc.Release()
				lines := strings.Split(content, "\n")
				if rest := string([]rune(lines[at.Line-1])[at.Column-1:]); !strings.HasPrefix(content[at.Offset:], rest) {
					t.Errorf("%s: %+v is %q and %q", content, at, rest, content[at.Offset:])
				}
				if n := content[at.Offset]; n != "\"12"[next] && n != "012"[next] {
					t.Errorf("%s: value %d begins with %q", content, next, n)
				}
				next++
			}
		}
		if next != 3 {
			t.Errorf("%s: %d manifests", content, next)
		}
	}
}

// The items of a list in YAML, which share a source, can be used concurrently.
func TestItemsConcurrently(t *testing.T) {
	for _, head := range []string{"kind: List\nitems:\n", "kind: List\nx: [&a 1, *a]\nitems:\n"} {
		content := head + strings.Repeat("- a: 1\n  b: 2\n", 200)
		first := strings.Count(head, "\n")
		var wg sync.WaitGroup
		for _, m := range Split([]byte(content))[0].Manifests() {
			wg.Go(func() {
				if at := m.Position("/b", engine.Position{}); at.Line != first+2*m.Item || m.Line() != at.Line-1 {
					t.Errorf("item %d is at line %d, and its field at %+v", m.Item, m.Line(), at)
				}
			})
		}
		wg.Wait()
	}
}

func TestErrorsInAFile(t *testing.T) {
	documents := Split([]byte("a: 1\n---\nb:\n  - c\n d: [\n"))
	for _, m := range documents[1].Manifests() {
		_, _, err := engine.TypeMetaOf(m.Document, engine.Limits{})
		text, line, column := m.Describe(err)
		if line != 5 || column != 2 { // the text of the YAML library has a line less
			t.Errorf("line %d, column %d: %s", line, column, text)
		}
	}
}

// TestDuplicatesInLists checks that items of lists in YAML keep their duplicate keys.
func TestDuplicatesInLists(t *testing.T) {
	content := "kind: List\nitems:\n- a: 1\n- a: {b: 017, b: [on, {c: 1.0, \"c\": x}]}\n  1: x\n- a: &x 2\n- {a: *x, a: 2}\n"
	var got []string
	for _, m := range Split([]byte(content))[0].Manifests() {
		if m.Err != nil {
			text, line, _ := m.Describe(m.Err)
			got = append(got, fmt.Sprintf("%d: %s", line, text))
		} else {
			got = append(got, string(m.JSON()))
		}
	}
	want := []string{`{"a":1}`, `{"a":{"b":15,"b":[true,{"c":1,"c":"x"}]},"1":"x"}`, `{"a":2}`,
		"7: line 7: remove duplicate keys, or aliases beside them: yaml: unknown anchor 'x' referenced"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
}
