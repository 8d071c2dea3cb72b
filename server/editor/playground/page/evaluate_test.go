package page

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

const boatObject = "apiVersion: a.example.com/v1\nkind: Boat\nmetadata: {name: a}\nspec:\n  oars: 4\n"

// evaluate returns the Report of an Input with a new Evaluator.
func evaluate(ctx context.Context, in Input) *Report { return new(Evaluator).Evaluate(ctx, in) }

// TestErrors checks what is in Report.Errors, and the document that it names.
func TestErrors(t *testing.T) {
	crd := crdOf(boat)
	for name, c := range map[string]struct {
		in                        Input
		document, reason, message string
	}{
		"no CRD":     {Input{CRD: " \n# x\n---\n"}, "crd", "INVALID_ARGUMENT", "there is no CRD"},
		"not a CRD":  {Input{CRD: "apiVersion: v1\nkind: Pod"}, "crd", "NOT_A_CRD", ""},
		"broken CRD": {Input{CRD: "a: [\n"}, "crd", "OBJECT_UNREADABLE", "invalid YAML: "},
		"large CRD": {Input{CRD: strings.Repeat("a", MaxDocumentBytes+1)}, "crd", "LIMIT_EXCEEDED",
			"exceed the limit of 1048576 bytes"},
		"large old object": {Input{CRD: crd, OldObject: strings.Repeat("a", MaxDocumentBytes+1)}, "oldObject",
			"LIMIT_EXCEEDED", ""},
		"deep object": {Input{CRD: crd, Object: strings.Repeat("[", 2000) + strings.Repeat("]", 2000)}, "object",
			"LIMIT_EXCEEDED", "nesting depth"},
		"unknown validation": {Input{CRD: crd, FieldValidation: "strict"}, "", "INVALID_ARGUMENT",
			"use Strict, Warn or Ignore"},
		"unknown minor": {Input{CRD: crd, Minor: 3}, "crd", "INVALID_ARGUMENT", `"1.3" is not a supported version of Kubernetes`},
		"unknown subresource": {Input{CRD: crd, Object: boatObject, OldObject: boatObject, Subresource: "x"}, "",
			"INVALID_ARGUMENT", "use status or scale"},
		"no old object": {Input{CRD: crd, Object: boatObject, Subresource: "status"}, "object", "INVALID_ARGUMENT",
			"no old object"},
		"broken old object":     {Input{CRD: crd, Object: boatObject, OldObject: "a: ["}, "oldObject", "", ""},
		"old object of no kind": {Input{CRD: crd, Object: boatObject, OldObject: "a: b"}, "oldObject", "", ""},
	} {
		r := evaluate(context.Background(), c.in)
		if len(r.Errors) != 1 {
			t.Errorf("%s: %s", name, encode(r))
			continue
		}
		e := r.Errors[0]
		if e.Document != c.document || !strings.Contains(e.Message, c.message) || c.reason != "" && e.Reason != c.reason {
			t.Errorf("%s: %s", name, encode(e))
		}
	}
}

// TestUnreadable checks the range of the error, or else of the first violation, of documents that cannot be read as a CRD
// or an object.
func TestUnreadable(t *testing.T) {
	car := strings.Replace(boatObject, "kind: Boat", "kind: Car", 1)
	for name, c := range map[string]struct {
		text             string
		crd, object, old string // the text in the range, and "" for no error
	}{
		"second document":     {boatObject + "---\n# x\nkind: Boat\n", "Boat", "kind: Boat", "kind: Boat"},
		"broken":              {"a: b\n - c: [", ": [", ": [", ": ["},
		"broken JSON":         {"\n{\"a\":1,", ",", ",", ","},
		"unknown anchor":      {"# x\n---\na: &x 1\nb: *y\n", "*y", "*y", "*y"},
		"list":                {"# x\n- a\n", "- a", "- a", "- a"},
		"text":                {"just text", "just text", "just text", "just text"},
		"deep":                {strings.Repeat("[", 2000), strings.Repeat("[", 2000), strings.Repeat("[", 2000), strings.Repeat("[", 2000)},
		"no kind":             {"# x\napiVersion: v1\n", "apiVersion: v1", "apiVersion: v1", "apiVersion: v1"},
		"no kind, no version": {"  a: b\n  c: d", "a: b", "a: b", "a: b"},
		"other kind":          {car, "Car", "Car", "apiVersion: a.example.com/v1"},
		"other version":       {strings.Replace(boatObject, "/v1", "/v9", 1), "Boat", "a.example.com/v9", "a.example.com/v9"},
		"other type":          {strings.Replace(boatObject, "{name: a}", "{name: 3}", 1), "Boat", "3", "3"},
		"no metadata":         {strings.Replace(boatObject, "{name: a}", "3", 1), "Boat", "3", "apiVersion: a.example.com/v1"},
		"apiVersion":          {"apiVersion: 3\nkind: Boat\n", "3", "3", "3"},
		"duplicate":           {boatObject + "  oars: 5\n", "Boat", "oars", ""},
		"duplicate, JSON":     {`{"apiVersion":"a.example.com/v1","kind":"Boat","metadata":{"name":"a"},"spec":{"oars":3,"oars":4}}`, `"Boat"`, `"oars"`, ""},
	} {
		for document, want := range map[string]string{DocumentCRD: c.crd, DocumentObject: c.object, DocumentOldObject: c.old} {
			in := Input{CRD: crdOf(boat), Object: boatObject, OldObject: c.text}
			switch document {
			case DocumentCRD:
				in = Input{CRD: c.text}
			case DocumentObject:
				in = Input{CRD: crdOf(boat), Object: c.text}
			}
			r := evaluate(t.Context(), in)
			var found *Range
			for _, e := range r.Errors {
				if found = e.Range; e.Document != document {
					t.Errorf("%s: %s: %s", name, document, encode(e))
				}
			}
			if r.Object != nil && len(r.Object.Violations) > 0 && found == nil {
				found = r.Object.Violations[0].Range
			}
			got := ""
			if found != nil {
				got = c.text[found.Start.Offset:found.End.Offset]
			}
			if got != want {
				t.Errorf("%s: %s: the range is %q, want %q: %s", name, document, got, want, encode(r.Errors))
			}
		}
	}
}

// TestSyntaxError checks that the error of a line without a colon is short, and at this line.
func TestSyntaxError(t *testing.T) {
	for _, c := range []struct{ object, mark string }{
		{boatObject + "  fu\n", "fu"}, {boatObject + "fu", "fu"}, {boatObject + "  name:\n    fu\n  tags: [a\n", "tags: [a"},
		{strings.Replace(boatObject, "kind", "fu\nkind", 1), "fu"},
	} {
		r := evaluate(t.Context(), Input{CRD: crdOf(boat), Object: c.object})
		if r.Object != nil || len(r.Errors) != 1 || r.Errors[0].Range == nil {
			t.Errorf("%q: %s", c.object, encode(r))
			continue
		}
		e := r.Errors[0]
		if mark := c.object[e.Range.Start.Offset:e.Range.End.Offset]; mark != c.mark || len(e.Message) > 80 ||
			!strings.HasPrefix(e.Message, "invalid YAML: ") {
			t.Errorf("%q: %q is marked: %s", c.object, mark, e.Message)
		}
	}
}

// TestDecodeError checks that a value that the API server cannot decode is a violation with a place, a hint and a fix.
func TestDecodeError(t *testing.T) {
	object := strings.Replace(boatObject, "{name: a}", "{name: a, labels: {tier: 3}}", 1)
	r := evaluate(t.Context(), Input{CRD: crdOf(boat), Object: object})
	if r.Object == nil || r.Object.Allowed || r.Object.Code != 400 || len(r.Object.Violations) != 1 {
		t.Fatalf("%s", encode(r))
	}
	v := r.Object.Violations[0]
	if v.Type != "DecodeError" || v.Pointer != "/metadata/labels/tier" || v.Hint == "" || len(v.Fixes) != 1 ||
		!strings.Contains(apply(object, v.Fixes[0]), `{tier: "3"}`) {
		t.Errorf("%s", encode(v))
	}
}

// TestDeadline checks that an evaluation ends at its time limit.
func TestDeadline(t *testing.T) {
	e := &Evaluator{Time: time.Nanosecond}
	r := e.Evaluate(context.Background(), Input{CRD: crdOf(boat), Object: boatObject})
	if len(r.Errors) != 1 || r.Errors[0].Reason != "ITEM_DEADLINE" {
		t.Errorf("%s", encode(r.Errors))
	}
	if got := e.Explain(context.Background(), ExplainInput{CRD: crdOf(boat)}); got.Error == nil ||
		got.Error.Reason != "ITEM_DEADLINE" {
		t.Errorf("%s", encode(got))
	}
}

// TestChanges checks what differs between the submitted and the stored object.
func TestChanges(t *testing.T) {
	r := evaluate(context.Background(), Input{CRD: crdOf(boat), FieldValidation: "Ignore",
		Object: boatObject + "  x: 1\nstatus: {oars: 3}\n"})
	if r.Object == nil || !r.Object.Allowed || !has(r.Object.Changes, OpPruned, "spec.x") ||
		!has(r.Object.Changes, OpDropped, "status") || !has(r.Object.Changes, OpSet, "metadata.generation") {
		t.Fatalf("%s", encode(r))
	}
	if strings.Contains(r.Object.Result, "status") || !strings.Contains(r.Object.Submitted, "status:\n  oars: 3\n") {
		t.Errorf("submitted %q, stored %q", r.Object.Submitted, r.Object.Result)
	}
}

// TestSubresources checks writes of the status and of the scale.
func TestSubresources(t *testing.T) {
	r := evaluate(context.Background(), Input{CRD: crdOf(boat), Object: boatObject + "status: {oars: 2}\n",
		OldObject: boatObject, Subresource: "status"})
	if r.Object == nil || !r.Object.Allowed || !strings.Contains(r.Object.Result, "status:\n  oars: 2\n") {
		t.Errorf("%s", encode(r))
	}
	scale := "apiVersion: autoscaling/v1\nkind: Scale\nmetadata: {name: a}\nspec: {replicas: 9}\n"
	r = evaluate(context.Background(), Input{CRD: crdOf(boat), Object: scale, OldObject: boatObject, Subresource: "scale"})
	if r.Object == nil || r.Object.Allowed || r.Object.Version != "v1" || r.Table != nil {
		t.Errorf("%s", encode(r))
	}
}

// TestCompiledOnce checks that a CRD is compiled again only if it or the minor release changes.
func TestCompiledOnce(t *testing.T) {
	e := new(Evaluator)
	in := Input{CRD: crdOf(boat), Object: boatObject}
	first := e.Evaluate(context.Background(), in).CRD
	if again := e.Evaluate(context.Background(), in).CRD; again != first {
		t.Error("compiled twice")
	}
	in.Minor = 30
	if other := e.Evaluate(context.Background(), in).CRD; other == first {
		t.Error("the minor release is ignored")
	}
}

// TestMinor checks that a CRD can use the CEL functions of the minor version only, and that Report.Minors are valid.
func TestMinor(t *testing.T) {
	crd := crdOf(boat + "              mast: {type: string, maxLength: 9, x-kubernetes-validations: [{rule: isQuantity(self)}]}\n")
	for minor, accepted := range map[int]bool{0: true, 27: false, 28: true} {
		r := evaluate(t.Context(), Input{CRD: crd, Minor: minor})
		if r.CRD == nil || r.CRD.Accepted != accepted {
			t.Errorf("minor %d: %s", minor, encode(r))
		}
		if e := new(Evaluator).Explain(t.Context(), ExplainInput{CRD: crd, Minor: minor}); (e.Error == nil) != accepted {
			t.Errorf("minor %d: %s", minor, encode(e))
		}
	}
	for _, minor := range evaluate(t.Context(), Input{}).Minors {
		if r := evaluate(t.Context(), Input{CRD: crdOf(boat), Minor: minor}); len(r.Errors) > 0 || !r.CRD.Accepted {
			t.Errorf("minor %d: %s", minor, encode(r))
		}
	}
}

func TestExplain(t *testing.T) {
	e := new(Evaluator)
	for path, want := range map[string]string{"": "KIND:       Boat", "spec.crew.role": "role", ".spec": "FIELD: spec"} {
		if got := e.Explain(context.Background(), ExplainInput{CRD: crdOf(boat), Path: path}); !strings.Contains(got.Text,
			want) {
			t.Errorf("%q: %s", path, encode(got))
		}
	}
	for want, in := range map[string]ExplainInput{
		`field "x" does not exist`: {CRD: crdOf(boat), Path: "spec.x"}, "no such version": {CRD: crdOf(boat), Version: "v9"},
		"the CRD is rejected": {CRD: strings.Replace(crdOf(boat), "plural: boats", "plural: b", 1)},
		"the limit of":        {CRD: crdOf(boat), Path: strings.Repeat("a", maxPathBytes+1)}, "there is no CRD": {},
	} {
		if got := e.Explain(context.Background(), in); got.Error == nil || !strings.Contains(got.Error.Message, want) {
			t.Errorf("%s: %s", want, encode(got))
		}
	}
}

// FuzzEvaluate checks that no input panics, and that all ranges and edits are in the documents.
func FuzzEvaluate(f *testing.F) {
	for _, e := range Examples() {
		f.Add(e.Input.CRD, e.Input.Object, e.Input.OldObject, e.Input.FieldValidation)
	}
	f.Add(crdOf(boat), "apiVersion: a.example.com/v1\nkind: Boat\nmetadata: {name: a}\nspec:\n  nam: \"\U0001f6a2\"\n  crew: [{x: 1}]\n", "", "Warn")
	f.Add(fleet, strings.Replace(boatObject, "/v1", "/v1alpha1", 1)+"status: {x: [1]}\n", "", "Warn")
	f.Fuzz(func(t *testing.T, crd, object, old, validation string) {
		if len(crd)+len(object)+len(old) > 1<<16 {
			t.Skip("the documents are too large")
		}
		r := (&Evaluator{Time: 30 * time.Second}).Evaluate(context.Background(),
			Input{CRD: crd, Object: object, OldObject: old, FieldValidation: validation})
		for _, e := range r.Errors {
			if e.Reason == "INTERNAL" {
				t.Fatalf("%s", e.Message)
			}
		}
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), `"fixes":null`) || strings.Contains(string(text), `"children":null`) {
			t.Errorf("a list is null: %s", text)
		}
		if r.Object == nil {
			return
		}
		units := 0
		for _, c := range object {
			if units++; c >= 1<<16 {
				units++
			}
		}
		var places []Warning
		for _, v := range r.Object.Violations {
			places = append(places, v.Warning)
		}
		for _, v := range append(places, r.Object.Warnings...) {
			if v.Range != nil && (v.Range.Start.Offset > v.Range.End.Offset ||
				v.Range.End.Offset > units && strings.ToValidUTF8(object, "") == object) {
				t.Errorf("range %+v of %d units", v.Range, units)
			}
			for _, fix := range v.Fixes {
				for i, e := range fix.Edits {
					if e.Start.Offset > e.End.Offset || i > 0 && e.Start.Offset < fix.Edits[i-1].End.Offset {
						t.Errorf("edits of %q: %+v", fix.Title, fix.Edits)
					}
				}
			}
		}
	})
}
