package workspace

import (
	"fmt"
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
			e := m.Err.(*engine.Error)
			line("unreadable", e.Message, e.Position, nil)
			continue
		}
		v, err := d.Validate(t.Context(), engine.Item{Object: m.Document}, engine.EvaluationOptions{CompleteMetadata: true})
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
