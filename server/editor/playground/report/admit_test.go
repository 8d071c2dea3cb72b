package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/editor/diagnosis"
)

// admitCRD has fields of the types that YAML 1.1 can mistake.
const admitCRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: apps.probe.example.org}
spec:
  group: probe.example.org
  scope: Namespaced
  names: {kind: App, plural: apps}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              s: {type: object, additionalProperties: {type: string}}
              num: {type: integer}
              containers:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items:
                  type: object
                  required: [name]
                  properties: {name: {type: string}, cpu: {type: integer}}
`

// TestAsAdmit checks that a document has the findings, the ranges and the hints that crdeval admit prints, which come from
// package diagnosis. want are the types of all findings, and marks what they mark.
func TestAsAdmit(t *testing.T) {
	const head = "apiVersion: probe.example.org/v1\nkind: App\nmetadata: {name: a}\n"
	const item = "kind: List\napiVersion: v1\nitems:\n- apiVersion: probe.example.org/v1\n  kind: App\n  metadata: {name: a}\n  spec: "
	for _, c := range []struct {
		name, object string
		want, marks  []string
	}{
		{"row 6: override of a merged key", head + "spec:\n  containers:\n  - &one {name: one, cpu: 1}\n  - {<<: *one, name: two}\n", nil, nil},
		{"row 6: in a list", item + "{containers: [&one {name: one, cpu: 1}, {<<: *one, name: two}]}\n", nil, nil},
		{"row 6: a duplicate key", head + "spec:\n  num: 1\n  num: 2\n", []string{"DuplicateField"}, []string{"num"}},
		{"row 7: scalars", head + "spec: {s: {mode: 0644, version: 1.10, flag: off, when: 1e3}}\n",
			[]string{"FieldValueTypeInvalid", "FieldValueTypeInvalid", "FieldValueTypeInvalid", "FieldValueTypeInvalid"},
			[]string{"off", "0644", "1.10", "1e3"}},
		{"row 7: scalars in a list", item + "{s: {mode: 0644, version: 1.10, flag: off, when: 1e3}}\n",
			[]string{"FieldValueTypeInvalid", "FieldValueTypeInvalid", "FieldValueTypeInvalid", "FieldValueTypeInvalid"},
			[]string{"off", "0644", "1.10", "1e3"}},
		{"row 8: an unknown field hides others", head + "spec:\n  x: 1\n  num: a\n",
			[]string{"UnknownField", "FieldValueTypeInvalid"}, []string{"x", "a"}},
		{"row 8: a syntax error", head + "spec:\n  num: 1\n  fu\n", []string{"error"}, []string{"fu"}},
		{"row 8: a value that cannot be decoded", "apiVersion: probe.example.org/v1\nkind: App\nmetadata: {name: a, annotations: {scrape: true}}\n",
			[]string{"DecodeError"}, []string{"true"}},
		{"row 9: keys of YAML 1.1", head + "spec:\n  s:\n    on: 1\n    1.50: 2\n    0x10: 3\n    no: 4\n    ? key\n    : 5\n",
			[]string{"FieldValueTypeInvalid", "FieldValueTypeInvalid", "FieldValueTypeInvalid", "FieldValueTypeInvalid", "FieldValueTypeInvalid"},
			[]string{"2", "3", "4", "5", "1"}},
		{"row 9: an unknown field of YAML 1.1", head + "spec:\n  on: x\n", []string{"UnknownField"}, []string{"on"}},
		{"row 13: text after the separator", head + "--- {kind: App}\n", []string{"error"}, []string{"--- {kind: App}"}},
		{"row 13: a directive", "%YAML 1.1\n---\n" + head, []string{"error"}, []string{"%YAML 1.1"}},
		{"row 14: text after the end of the document", head + "...\nkind: App\n", []string{"Notice"}, []string{"kind: App"}},
		{"row 15: a null document", "null\n---\n" + head + "spec: {num: a}\n", []string{"FieldValueTypeInvalid"}, []string{"a"}},
		{"row 15: JSON and then YAML", `{"apiVersion":"probe.example.org/v1","kind":"App","metadata":{"name":"a"},"spec":{"num":"a"}}` + "\n# end\n",
			[]string{"FieldValueTypeInvalid"}, []string{`"a"`}},
		{"row 16: items without a kind", "apiVersion: probe.example.org/v1\nkind: AppList\nitems:\n- metadata: {name: a}\n  spec: {num: b}\n",
			[]string{"FieldValueTypeInvalid"}, []string{"b"}},
		{"row 16: a typed list", "apiVersion: probe.example.org/v1\nkind: AppList\n" + strings.TrimPrefix(item, "kind: List\napiVersion: v1\n") + "{num: b}\n",
			[]string{"FieldValueTypeInvalid"}, []string{"b"}},
	} {
		r := evaluate(t.Context(), Input{CRD: admitCRD, Object: c.object})
		got := findingsOf(r)
		if admitted := admitFindings(t, c.object); !slices.Equal(got, admitted) {
			t.Errorf("%s: the report has\n%+v, diagnosis\n%+v", c.name, got, admitted)
		}
		var types, marks []string
		for _, f := range got {
			types = append(types, f.Type)
			marks = append(marks, c.object[f.Start:f.End])
		}
		if !slices.Equal(types, c.want) || !slices.Equal(marks, c.marks) {
			t.Errorf("%s: types %q, marks %q: %s", c.name, types, marks, encode(r))
		}
	}
}

// TestFixInList checks the positions of a fix in an item of a list behind another document.
func TestFixInList(t *testing.T) {
	object := "null\n---\nkind: List\napiVersion: v1\nitems:\n- apiVersion: probe.example.org/v1\n  kind: App\n  metadata: {name: a}\n" +
		"  spec:\n    nun: 1\n"
	r := evaluate(t.Context(), Input{CRD: admitCRD, Object: object})
	if r.Object == nil || len(r.Object.Violations) != 1 || len(r.Object.Violations[0].Fixes) == 0 {
		t.Fatalf("%s", encode(r))
	}
	if got := apply(object, r.Object.Violations[0].Fixes[0]); got != strings.Replace(object, "nun", "num", 1) {
		t.Errorf("%s", got)
	}
}

// shown is what all outputs show of a finding. The documents are ASCII, so offsets in bytes and in code units are equal.
type shown struct {
	Severity, Type, Field, Message, Hint string
	Line, Start, End                     int
}

func findingsOf(r *Report) (list []shown) {
	add := func(field string, w *Warning) {
		s := shown{Severity: w.Severity, Type: w.Type, Field: field, Message: w.Message, Hint: w.Hint}
		if w.Range != nil {
			s.Line, s.Start, s.End = w.Range.Start.Line, w.Range.Start.Offset, w.Range.End.Offset
		}
		list = append(list, s)
	}
	if r.Object != nil {
		for i := range r.Object.Violations {
			v := &r.Object.Violations[i]
			add(v.Field, &v.Warning)
		}
		for i := range r.Object.Warnings {
			add("", &r.Object.Warnings[i])
		}
	}
	for _, e := range r.Errors {
		add("", &Warning{Severity: "error", Type: "error", Message: e.Message, Range: e.Range})
	}
	return list
}

// admitFindings returns the findings of package diagnosis for each manifest of a text, in the order of findingsOf.
func admitFindings(t *testing.T, text string) (list []shown) {
	crds := workspace.Parse(workspace.Source{Path: "crd.yaml"}, []byte(admitCRD), 0)
	w := new(workspace.Workspace)
	w.Set(crds)
	file := workspace.Parse(workspace.Source{Path: "object.yaml"}, []byte(text), 0)
	for _, m := range file.Manifests {
		found := diagnosis.OfManifest(m)
		if m.Err == nil {
			answers := w.Evaluate(t.Context(), m.APIVersion, m.Kind, m.Path(), func(_ *workspace.CRD, d *engine.Definition) (*engine.Verdict, error) {
				return d.Admit(t.Context(), engine.Create{Object: m.Document}, engine.AdmitOptions{FieldValidation: engine.FieldValidationStrict, CompleteMetadata: true})
			})
			found = append(diagnosis.OfAnswers(answers), found...)
		}
		d := diagnosis.New(m, 0)
		for i := range found {
			f := &found[i]
			start, end := d.RangeOf(f)
			s := shown{Severity: severities[f.Severity], Type: f.Type, Field: f.Field, Message: f.Message,
				Line: m.Text().Position(d.Begin + start).Line, Start: d.Begin + start, End: d.Begin + end}
			if f.Hint != nil {
				s.Hint = f.Hint.Text
			}
			switch f.Source.(type) {
			case *engine.Warning:
				s.Field = ""
			case *engine.Violation:
			case error:
				s.Type = "error"
			}
			list = append(list, s)
		}
	}
	return list
}
