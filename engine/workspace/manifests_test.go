package workspace

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine"
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
		"JSON objects":      {"{\"a\": 1}\n{\"a\":\n1} {\"a\": 2}\n\n{}\n---\n{}\n", []int{1, 2, 3, 5, 6}},
		"JSON and text":     {"{\"a\": 1}\n{\"a\": 1}\n# c\n", []int{1, 2, 3}},
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
		for _, m := range Read([]byte(tc.content)) {
			begins = append(begins, m.Line())
		}
		if fmt.Sprint(begins) != fmt.Sprint(tc.begins) {
			t.Errorf("%s: they begin on lines %v, want %v", name, begins, tc.begins)
		}
	}
}

// definition returns a CRD for objects whose fields are integers.
func definition(t *testing.T) *engine.Definition {
	t.Helper()
	d, report, err := engine.Compile(t.Context(), engine.YAML([]byte(crd)), engine.Options{})
	if err != nil || d == nil {
		t.Fatal(err, report)
	}
	return d
}

const crd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: tpls.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Tpl, plural: tpls}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          i: {type: object, additionalProperties: {type: integer}}
          s: {type: object, additionalProperties: {type: string}}
          any: {type: object, x-kubernetes-preserve-unknown-fields: true}
          "true": {type: object, properties: {a: {type: string}}}
`

// report returns the violations, the duplicate and the unknown fields of the manifests of a text, with their positions.
func report(t *testing.T, d *engine.Definition, content string) (all []string) {
	t.Helper()
	line := func(name, kind string, at *engine.Position, h *engine.Hint) {
		text := name + ": " + kind
		if at != nil {
			rest, _, _ := strings.Cut(content[min(at.Offset, len(content)):], "\n")
			lines := strings.SplitAfter(content, "\n")
			before := len(strings.Join(lines[:at.Line-1], ""))
			if column := len([]rune(content[before:at.Offset])) + 1; column != at.Column {
				t.Errorf("%q: column %d is that of another byte than %d", content, at.Column, at.Offset)
			}
			text += fmt.Sprintf(" at %d:%d %s", at.Line, at.Column, rest)
		}
		if h != nil {
			text += " (" + h.Text + ")"
		}
		all = append(all, text)
	}
	for _, m := range Read([]byte(content)) {
		if m.Err != nil {
			e, _ := errors.AsType[*engine.Error](m.Err)
			line("unreadable", e.Message, e.Position, nil)
			continue
		}
		v, err := d.Validate(t.Context(), engine.Create{Object: m.Document}, engine.ValidateOptions{CompleteMetadata: true})
		if err != nil {
			t.Fatal(err)
		}
		if len(v.Violations)+len(v.Pruned)+len(v.Warnings) == 0 && v.Allowed {
			line(m.Name, "allowed", nil, nil)
		}
		for _, w := range v.Warnings {
			line(m.Name, w.Text, nil, nil)
		}
		for i := range v.Violations {
			line(m.Name, v.Violations[i].Field, v.Violations[i].Position, v.Violations[i].Hint)
		}
		for i := range v.Pruned {
			line(m.Name, "pruned", v.Pruned[i].Position, v.Pruned[i].Hint)
		}
	}
	return all
}

// head is the begin of an object.
const head = "apiVersion: example.com/v1\nkind: Tpl\nmetadata: {name: a}\n"

// asItem returns a text as an item of a List.
func asItem(text string) string {
	return "- " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
}

const listHead = "apiVersion: v1\nkind: List\nitems:\n"

// TestPlaces checks positions and hints in all places of an object in a text.
func TestPlaces(t *testing.T) {
	d := definition(t)
	for name, content := range map[string]string{
		"one document":  head + "s: {mode: 0644}\n",
		"a later one":   "# c\n---\n" + head + "---\n" + head + "s: {mode: 0644}\n",
		"an item":       listHead + asItem(head+"s: {a: b}\n") + asItem(head+"s: {mode: 0644}\n"),
		"a later list":  head + "---\n" + listHead + asItem(head+"s: {mode: 0644}\n"),
		"a list of one": "{kind: List, items: [{apiVersion: example.com/v1, kind: Tpl, metadata: {name: a}, s: {mode: 0644}}]}",
		"JSON":          "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Tpl\",\"metadata\":{\"name\":\"ä\"}, \"s\": {\"mode\": 0.5}}",
		"a JSON item":   "{\"kind\":\"List\",\"items\": [\n{\"apiVersion\":\"example.com/v1\",\"kind\":\"Tpl\",\"metadata\":{\"name\":\"ä\"}, \"s\": {\"mode\": 0.5}}]}",
		"JSON, then YAML": "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Tpl\",\"metadata\":{\"name\":\"ä\"}, \"s\": {\"mode\": 0.5}}\n---\n" +
			head + "s: {mode: 0644}\n",
	} {
		got := report(t, d, content)
		last := got[len(got)-1]
		if !strings.Contains(last, ": s.mode at ") || !strings.Contains(last, " 0644}") && !strings.Contains(last, " 0.5}") {
			t.Errorf("%s: %q", name, got)
		}
		if !strings.HasSuffix(last, `(did you mean "0644", in quotes?)`) && !strings.HasSuffix(last, `(did you mean "0.5", in quotes?)`) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestHintsOfYAML checks that hints have the text of scalars and keys as it was written.
func TestHintsOfYAML(t *testing.T) {
	d := definition(t)
	object := head + `s:
  mode: 0644
  version: 1.10
  flag: off
  when: 1e3 # c
  anchored: &a 0755
  alias: *a
  tagged: !!int 010
on: 1
true: {1.50: x, y: y, no: n, 0x10: z, ? off : o, "yes": s, a: b}
`
	want := []string{
		`s.alias *a (did you mean "0755", in quotes?)`, `s.anchored &a 0755 (did you mean "0755", in quotes?)`,
		`s.flag off (YAML takes off for false: did you mean "off", in quotes?)`, `s.mode 0644 (did you mean "0644", in quotes?)`,
		`s.tagged !!int 010 (did you mean "010", in quotes?)`, `s.version 1.10 (did you mean "1.10", in quotes?)`,
		`s.when 1e3 # c (did you mean "1e3", in quotes?)`,
		`pruned 1.50 (YAML 1.1 reads the key 1.50 as 1.5: quote it, "1.50")`, `pruned y (YAML 1.1 reads the key y as true: quote it, "y")`,
		`pruned 0x10 (YAML 1.1 reads the key 0x10 as 16: quote it, "0x10")`, `pruned off (YAML 1.1 reads the key off as false: quote it, "off")`,
		`pruned "yes"`, `duplicate field "true"`, `duplicate field "true.false"`,
	}
	place := regexp.MustCompile(` at \d+:\d+ `)
	key := regexp.MustCompile(`^(a: pruned ["a-z0-9.]+) ?:.*}`)
	for name, content := range map[string]string{
		"a document": object, "a later one": "a: 1\n---\n" + object, "an item": listHead + asItem(head) + asItem(object),
	} {
		got := report(t, d, content)
		for i, text := range got {
			got[i] = key.ReplaceAllString(place.ReplaceAllString(text, " "), "$1")
		}
		for _, text := range want {
			if !slices.Contains(got, "a: "+text) {
				t.Errorf("%s: %q is not in %q", name, text, got)
			}
		}
	}
}

// TestRead checks what is read, and the errors and warnings, in the order of the text.
func TestRead(t *testing.T) {
	const separator = "only a comment may follow the separator ---: kubectl does not read this document"
	const ignored = "kubectl ignores this text: the document ends before it, and only --- begins another one"
	const directive = "invalid YAML: a document cannot begin with a directive: remove the line"
	for content, want := range map[string]string{
		"a: 1\n--- {b: 1}\n---\nc: 1\n":      `1 {"a":1}|2:1 ` + separator + `|3 {"c":1}`,
		"a: 1\n---b\nc: 1\n":                 `1 {"a":1}|2:1 ` + separator,
		"--- # b\na: 1\n---\t\n# c\n--- \n":  `1 {"a":1}`,
		"%YAML 1.1\n---\na: 1\n":             `1:1 ` + directive + `|2 {"a":1}`,
		"a: 1\n---\n%YAML 1.2\n---\nb: 1\n":  `1 {"a":1}|3:1 ` + directive + `|3 {"b":1}`,
		"...\na: 1\n---\nb: 1\n":             `1:1 invalid YAML: did not find expected node content|2 {"b":1}`,
		"a: 1\n...\n# c\n---\nb: 1\n...\n":   `1 {"a":1}|2 {"b":1}`,
		"a: 1\n...\nb: 2\n---\nc: 3\n":       `1 {"a":1}|3:1 ` + ignored + `|2 {"c":3}`,
		"a: 1\n... # c\nb: 2\nc: 3":          `1 {"a":1}|3:1 ` + ignored,
		"{a: 1}\nb: 2\n":                     `1 {"a":1}|2:1 ` + ignored,
		"a: 1\r---\rb: 2\r":                  `1 {"a":1}|2:1 ` + ignored,
		"null\n---\na: 1\n---\n~\n---\n{}\n": `1 {"a":1}|2 {}`,
		"{\"a\": 1}\nnull\n":                 `1 {"a": 1}`,
		"{\"a\": 1}\nb: 1\n":                 `1 {"a": 1}|2 {"b":1}`,
		"{\"a\": 1} {b: 1}\n---\nc: 1\n":     `1 {"a": 1}|2 {"b":1}|3 {"c":1}`,
		"{\"a\": 1}\n---\n{\"b\": 1}\n":      `1 {"a": 1}|2 {"b":1}`,
		"{} {}\n---\nb: 1\n":                 `1 {}|2 {}|2:1 after two JSON documents, all others must be JSON too: kubectl does not read YAML here`,
		"{\"a\" 1}\n":                        `1:6 invalid JSON: invalid character '1' after object key`,
		"a: |\n  x":                          `1 {"a":"x\n"}`,
		"\ufeffa: 1\n---\n\ufeffb: 2\n":      `1 {"a":1}|2 {"b":2}`,
		"a: 1\r\n---\r\nb: \"x\r\n  y\"\r\n": `1 {"a":1}|2 {"b":"x y"}`,
		"\xff\xfea\x00:\x00 \x001\x00":       `1 {"a":1}`,
		"\xfe\xff\x00{\x00}\x00\n\x00b\x00:": `1 {}|2:1 invalid JSON: kubectl does not read such a short text as YAML`,
		"\xfe\xff\x00-\x00 \x00\xe9\x00":     "1 [\"é\ufffd\"]", // half a unit at the end
		"{\"a\": 1}\n{\"b\": \"é\xff\"}":     `1 {"a": 1}|2:9 invalid JSON: this byte is not UTF-8`,
		"a: \"x\n---\ny\"\n":                 `1:4 invalid YAML: the quoted text that begins here does not end|2 "y\""`,
		"\n \n\t{\"a\": 1}":                  `1 {"a": 1}`,
		"kind: TplList\napiVersion: v1\nitems:\n- a: 1\n- {}\n- kind: X\n":                          `1.1 {"apiVersion":"v1","kind":"Tpl","a":1}|1.2 {"apiVersion":"v1","kind":"Tpl"}|1.3 {"kind":"X"}`,
		"{\"kind\": \"TplList\", \"apiVersion\": \"v1\", \"items\": [{\"a\": \"\\ud83d\\ude00\"}]}": `1.1 {"apiVersion":"v1","kind":"Tpl","a": "\ud83d\ude00"}`,
		"kind: Tpl\nitems: [{a: 1}]\n":                                                      `1 {"items":[{"a":1}],"kind":"Tpl"}`,
		"kind: TplList\nspec: {}\n":                                                         `1 {"kind":"TplList","spec":{}}`,
		"kind: TplList\nitems: null\n---\nkind: List\nitems: []\n":                          ``,
		"kind: List\nitems:\n- {kind: AList, apiVersion: v1, items: [{b: 1}]}\n- kind: C\n": `1.1 {"apiVersion":"v1","kind":"A","b":1}|1.2 {"kind":"C"}`,
		"kind: List\nitems: [{a: 1}]\nitems: [{b: 1}]\n":                                    `1.1 {"b":1}|3:1 duplicate field "items"`,
		"kind: List\nm: {on: a,\n  \"true\": b}\nitems: [{b: 1}]\n":                         `1.1 {"b":1}|3:3 duplicate field "m.true"`,
		`{"kind": "List", "items": [{"a": 1}], "items": [{"b": 1}]}`:                        `1.1 {"b": 1}|1:39 duplicate field "items"`,
		"a: {b: 017, b: [on, {c: 1.0, \"c\": x}]}\n":                                        `1 {"a":{"b":null,"b":[true,{"c":null,"c":"x"}]}}`,
		"kind: List\nitems:\n- a: &x 2\n- {<<: {a: 3}, a: *x, a: 2}\n":                      `1.1 {"a":2}|1.2 {"a":null,"a":2}`,
		"- &one {name: one, cpu: 1}\n- {<<: *one, name: two}\n":                             `1 [{"cpu":1,"name":"one"},{"cpu":1,"name":"two"}]`,
		"c: {<<: *a, <<: *a}\na: &a {x: 1}\n":                                               `1:9 invalid YAML: unknown anchor 'a' referenced`,
		"a: &a {x: 1}\nc: {<<: *a, <<: *a}\n":                                               `1 {"a":{"x":1},"c":{"x":1}}`,
	} {
		var got []string
		for _, m := range Read([]byte(content)) {
			switch place := fmt.Sprint(m.Number); {
			case m.Err != nil:
				e, _ := errors.AsType[*engine.Error](m.Err)
				got = append(got, fmt.Sprintf("%d:%d %s", e.Position.Line, e.Position.Column, e.Message))
			case m.Item > 0:
				got = append(got, fmt.Sprintf("%s.%d %s", place, m.Item, m.JSON()))
			default:
				got = append(got, place+" "+string(m.JSON()))
			}
			for _, w := range m.Warnings {
				got = append(got, fmt.Sprintf("%d:%d %s", w.Position.Line, w.Position.Column, w.Text))
			}
		}
		if text := strings.Join(got, "|"); text != want {
			t.Errorf("%q:\n%s, want\n%s", content, text, want)
		}
	}
}
