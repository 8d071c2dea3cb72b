package diagnosis

import (
	"context"
	"errors"
	"testing"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/workspace"
)

// TestRangeOf checks the text of the range of a finding.
func TestRangeOf(t *testing.T) {
	list := "kind: List\nitems:\n- a: 1\n- b: {c: d}\n  \"e\": [f]\n"
	for name, tc := range map[string]struct {
		text string
		item int
		f    Finding
		want string
	}{
		"a value":                   {"a: b # c\n", 0, Finding{Pointer: "/a"}, "b"},
		"a quoted value":            {"a: 'b'\n", 0, Finding{Pointer: "/a"}, "'b'"},
		"a value of two lines":      {"a: b\n  c\nd: e\n", 0, Finding{Pointer: "/a"}, "b\n  c"},
		"an object":                 {"a: {b: c}\n", 0, Finding{Pointer: "/a"}, "a"},
		"a list in a block":         {"a:\n- b\n", 0, Finding{Pointer: "/a"}, "a"},
		"an item":                   {"a:\n- b\n", 0, Finding{Pointer: "/a/0"}, "b"},
		"an item that is an object": {"a:\n- b: c\n  d: e\n", 0, Finding{Pointer: "/a/0"}, "b: c"},
		"an item in brackets":       {"a: [{b: c}]\n", 0, Finding{Pointer: "/a/0"}, "{b: c}"},
		"a missing field":           {"a: {b: c}\n", 0, Finding{Pointer: "/a/d"}, "a"},
		"a missing field of a root": {"a: b\n", 0, Finding{Pointer: "/d"}, "a: b"},
		"a missing value":           {"a:\nb: c\n", 0, Finding{Pointer: "/a"}, "a"},
		"an unknown field":          {"a: b\n", 0, Finding{Pointer: "/a", Type: engine.TypeUnknownField}, "a"},
		"the first of duplicates": {"a: b\na: c\n", 0, Finding{
			Pointer: "/a", Type: engine.TypeDuplicateField, Position: &engine.Position{},
		}, "a: b"},
		"a Boolean key":              {"on: b\n", 0, Finding{Pointer: "/true"}, "b"},
		"keys that are numbers":      {"1.50: {0x10: b}\n", 0, Finding{Pointer: "/1.5/16"}, "b"},
		"a key after a question":     {"? a\n: b\n", 0, Finding{Pointer: "/a"}, "b"},
		"an alias":                   {"a: &x b\nc: *x\n", 0, Finding{Pointer: "/c"}, "*x"},
		"a merge key":                {"a: &x {b: c}\nd: {<<: *x}\n", 0, Finding{Pointer: "/d/b"}, "c"},
		"the root":                   {"# a\nb: c # d\n", 0, Finding{}, "b: c # d"},
		"a position without pointer": {"a: b\nc: d\n", 0, Finding{Position: &engine.Position{Offset: 5}}, "c: d"},
		"JSON":                       {`{"a": {"b": "c"}}`, 0, Finding{Pointer: "/a/b"}, `"c"`},
		"a key of JSON":              {`{"a": {"b": "c"}}`, 0, Finding{Pointer: "/a"}, `"a"`},
		"an item of a List":          {list, 2, Finding{Pointer: "/b/c"}, "d"},
		"an object of a List":        {list, 2, Finding{Pointer: "/b"}, "b"},
		"a quoted key of a List":     {list, 2, Finding{Pointer: "/e"}, `"e"`},
		"a syntax error":             {"a: b\nc: [d\n", 0, Finding{Position: &engine.Position{Offset: 8}}, "[d"},
		"an error at the end":        {"a: [", 0, Finding{Position: &engine.Position{Offset: 4}}, "["},
	} {
		t.Run(name, func(t *testing.T) {
			text := "x: y\n---\n" + tc.text // offsets are those in the document
			if tc.text[0] == '{' {
				text = tc.text
			}
			all := workspace.Read([]byte(text))
			m := all[len(all)-1]
			if tc.item > 0 {
				m = all[len(all)-2+tc.item-1]
			}
			d := New(m, 0)
			if at := tc.f.Position; at != nil {
				at.Offset += d.Begin
			}
			if start, end := d.RangeOf(&tc.f); d.Text[start:end] != tc.want {
				t.Errorf("%q, want %q", d.Text[start:end], tc.want)
			}
		})
	}
}

// TestFixesOfErrors checks the fixes of objects that could not be evaluated.
func TestFixesOfErrors(t *testing.T) {
	var w workspace.Workspace
	w.Set(workspace.Parse(workspace.Source{Name: "crd.yaml"}, []byte(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {kind: Boat, plural: boats, singular: boat, listKind: BoatList}
  versions:
  - {name: v2, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
  - {name: v1, served: false, storage: false, schema: {openAPIV3Schema: {type: object}}}
`), 0))
	for text, want := range map[string]string{
		"apiVersion: example.com/v1\nkind: Boat\n": "apiVersion: example.com/v2\nkind: Boat\n", // not served
		"apiVersion: example.com/v3\nkind: Boat\n": "apiVersion: example.com/v2\nkind: Boat\n",
		"apiVersion: example.com/v2\nkind: boat\n": "apiVersion: example.com/v2\nkind: Boat\n",
		"apiVersion: Example.com/v2\nkind: Boat\n": "apiVersion: example.com/v2\nkind: Boat\n",
		"apiVersion: other.com/v2\nkind: Boat\n":   "",
	} {
		m := workspace.Read([]byte(text))[0]
		d := New(m, 1000)
		var got string
		for _, f := range OfAnswers(w.Evaluate(t.Context(), m.APIVersion, m.Kind, "",
			func(_ *workspace.CRD, d *engine.Definition) (*engine.Verdict, error) {
				return d.Validate(context.WithoutCancel(t.Context()), engine.Create{Object: m.Document}, engine.ValidateOptions{})
			})) {
			if _, failed := f.Source.(error); !failed {
				t.Errorf("%s: %+v", text, f)
			}
			for _, fix := range d.Fixes(&f, nil) {
				got, _ = Apply(d.Text, fix.Edits)
			}
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestSyntaxError checks that a document that cannot be read has one finding with a position.
func TestSyntaxError(t *testing.T) {
	for _, text := range []string{"a: [\n", "{\"a\": 1", "--- {}\n", "\ta: b\n"} {
		list := OfManifest(workspace.Read([]byte(text))[0])
		if len(list) != 1 || list[0].Type != engine.TypeSyntax || list[0].Position == nil || list[0].Severity != Error {
			t.Errorf("%q: %+v", text, list)
		}
	}
	if f := OfError(errors.New("x")); f.Type != NotChecked {
		t.Errorf("%+v", f)
	}
}
