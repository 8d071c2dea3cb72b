package page

import (
	"slices"
	"strings"
	"testing"
)

// fleet is a CRD with a deprecated version, unknown fields, an unknown format, and a set of objects.
var fleet = strings.Replace(crdOf(boat+`              sails: {type: string, format: canvas}
              buoys: {type: array, x-kubernetes-list-type: set, items: {type: object, x-kubernetes-map-type: atomic}}
              a.b: {type: object, properties: {c: {type: string}}}
              wide: {type: integer, maximum: 3}
              self:
                type: object
                x-kubernetes-validations: [{rule: self.size < 3}]
                properties: {size: {type: integer}}
`), "  - name: v1\n", `  - name: v1alpha1
    served: true
    storage: false
    deprecated: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
  - name: v1
    color: red
`, 1)

// marked returns the text in the range of the warning with a message, its fixes, and whether there is such a warning.
func marked(text string, list []Warning, message string) (mark string, fixes []Fix, found bool) {
	i := slices.IndexFunc(list, func(w Warning) bool { return strings.Contains(w.Message, message) })
	if i < 0 {
		return "", nil, false
	}
	if r := list[i].Range; r != nil {
		mark = text[r.Start.Offset:r.End.Offset] // the documents are ASCII
	}
	return mark, list[i].Fixes, true
}

// TestWarnings checks the range and the fixes of each kind of warning.
func TestWarnings(t *testing.T) {
	const head = "apiVersion: a.example.com/v1\nkind: Boat\nmetadata:\n  name: a\n"
	const owner = "  - {apiVersion: v1, kind: A, name: a, uid: u}\n"
	type warning struct{ message, mark, fix, changed string } // changed is a part of the document after the first fix
	for _, c := range []struct {
		name, crd, object, old, subresource string
		want                                warning
	}{
		{name: "pruned", object: head + "spec:\n  nam: abc\n", want: warning{`unknown field "spec.nam"`, "nam", "Rename to name", "  name: abc"}},
		{name: "JSON", object: `{"apiVersion":"a.example.com/v1","kind":"Boat","metadata":{"name":"a"},"spec":{"x":1}}`,
			want: warning{`unknown field "spec.x"`, `"x"`, "Remove spec.x", `"spec":{}`}},
		{name: "metadata", object: head + "  x: 1\n", want: warning{`unknown field "metadata.x"`, "x", "Remove metadata.x", ""}},
		{name: "duplicate", object: head + "spec:\n  oars: 3\n  oars: 4\n", want: warning{`duplicate field "spec.oars"`, "oars", "", ""}},
		{name: "duplicate in JSON", object: `{"apiVersion":"a.example.com/v1","kind":"Boat","metadata":{"name":"a"},"spec":{"a.b":{"c":"1","c":"2"}}}`,
			want: warning{`duplicate field "spec.a.b.c"`, `"c"`, "", ""}},
		{name: "finalizer", object: head + "  finalizers: [x.example.com/y, xyz]\n", want: warning{`metadata.finalizers: "xyz"`, "xyz", "", ""}},
		{name: "owners", object: head + "  ownerReferences:\n" + owner + owner, want: warning{"duplicate entries", "ownerReferences", "", ""}},
		{name: "deprecated", object: strings.Replace(head, "/v1", "/v1alpha1", 1),
			want: warning{"v1alpha1 Boat is deprecated", "a.example.com/v1alpha1", `Change to "a.example.com/v1"`, "apiVersion: a.example.com/v1\n"}},
		{name: "items", object: head + "items: []\n", crd: strings.Replace(fleet, "        type: object\n        properties:\n",
			"        type: object\n        properties:\n          items: {type: array, items: {type: string}}\n", 1),
			want: warning{`crdeval: an object with a list "items"`, "items", "", ""}},
		{name: "scale", object: "apiVersion: autoscaling/v1\nkind: Scale\nmetadata: {name: a}\nspec: {replicas: 3, x: 1}\n",
			old: head + "spec:\n  oars: 3\n", subresource: "scale",
			want: warning{`unknown field "spec.x"`, "x", "Remove spec.x", "spec: {replicas: 3}"}},
		{name: "CRD, unknown", want: warning{`unknown field "spec.versions[1].color"`, "color", "Remove spec.versions[1].color", "- name: v1\n    served"}},
		{name: "CRD, format", want: warning{`unrecognized format "canvas"`, "canvas", "Remove format", "sails: {type: string}"}},
		{name: "CRD, two formats", crd: strings.Replace(fleet, "sails:", "flag: {type: string, format: canvas}\n              sails:", 1),
			want: warning{`unrecognized format "canvas"`, "canvas", "Remove format", "flag: {type: string}"}},
		{name: "CRD, set", want: warning{`set for items of type "object"`, "set", "Remove x-kubernetes-list-type", "buoys: {type: array, items"}},
	} {
		in := Input{CRD: c.crd, Object: c.object, OldObject: c.old, Subresource: c.subresource, FieldValidation: "Warn"}
		if in.CRD == "" {
			in.CRD = fleet
		}
		r := evaluate(t.Context(), in)
		if r.CRD == nil || !r.CRD.Accepted || (c.object != "") != (r.Object != nil) {
			t.Fatalf("%s: %s %s", c.name, encode(r.CRD), encode(r.Errors))
		}
		text, list := in.CRD, r.CRD.Warnings
		if c.object != "" {
			text, list = c.object, r.Object.Warnings
		}
		mark, fixes, found := marked(text, list, c.want.message)
		if !found || mark != c.want.mark {
			t.Errorf("%s: the range is %q: %s", c.name, mark, encode(list))
			continue
		}
		if c.want.fix == "" {
			if len(fixes) > 0 {
				t.Errorf("%s: fixes %s", c.name, encode(fixes))
			}
			continue
		}
		if len(fixes) == 0 || fixes[0].Title != c.want.fix {
			t.Errorf("%s: fixes %s", c.name, encode(fixes))
			continue
		}
		if after := apply(text, fixes[0]); !strings.Contains(after, c.want.changed) {
			t.Errorf("%s: after the fix: %s", c.name, after)
		}
	}
}

// TestRatcheted checks that a violation of a value that the update keeps is in one list only. The API server warns about
// rules.
func TestRatcheted(t *testing.T) {
	old := strings.Replace(boatObject, "oars: 4", "self: {size: 5}", 1)
	object := old + "  oars: 3\n"
	r := evaluate(t.Context(), Input{CRD: fleet, Object: object, OldObject: old})
	if r.Object == nil || !r.Object.Allowed || len(r.Object.Ratcheted) != 1 || len(r.Object.Warnings) != 0 {
		t.Fatalf("%s", encode(r))
	}
	v := r.Object.Ratcheted[0]
	if v.Severity != "warning" || v.Rule != "self.size < 3" || v.RuleRange == nil || v.Range == nil ||
		object[v.Range.Start.Offset:v.Range.End.Offset] != "self" {
		t.Errorf("%s", encode(v))
	}
}

// TestUnknownFieldsOfCRD checks that unknown and duplicate fields of the CRD are warnings, and that objects are evaluated.
func TestUnknownFieldsOfCRD(t *testing.T) {
	crd := crdOf("              name: {type: string, maxlength: 3}\n              oars: {type: integer, minimum: 1, minimum: 2}\n")
	r := evaluate(t.Context(), Input{CRD: crd, Object: boatObject})
	if r.Object == nil || !r.Object.Allowed || len(r.CRD.Warnings) != 2 {
		t.Fatalf("%s", encode(r))
	}
	mark, fixes, found := marked(crd, r.CRD.Warnings, "maxlength")
	if !found || mark != "maxlength" || len(fixes) == 0 || !strings.Contains(apply(crd, fixes[0]), "maxLength: 3}") {
		t.Errorf("%q: %s", mark, encode(r.CRD.Warnings))
	}
	if mark, _, found = marked(crd, r.CRD.Warnings, "duplicate"); !found || !strings.HasPrefix(mark, "minimum") {
		t.Errorf("%q: %s", mark, encode(r.CRD.Warnings))
	}
}
