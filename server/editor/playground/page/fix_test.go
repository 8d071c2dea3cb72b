package page

import (
	"context"
	"strings"
	"testing"
)

// crdOf returns a CRD of the kind Boat with the properties of spec, indented by 14 spaces.
func crdOf(properties string) string {
	return `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.a.example.com}
spec:
  group: a.example.com
  scope: Cluster
  names: {plural: boats, singular: boat, kind: Boat}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.oars, statusReplicasPath: .status.oars}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          status: {type: object, properties: {oars: {type: integer}}}
          spec:
            type: object
            properties:
` + properties
}

const boat = `              name: {type: string, minLength: 3}
              oars: {type: integer, minimum: 2, maximum: 8}
              colour: {type: string, enum: [red, "no"]}
              tags: {type: array, items: {type: string}}
              crew:
                type: array
                items:
                  type: object
                  required: [role, since]
                  properties:
                    role: {type: string, enum: [captain, cook]}
                    since: {type: string, format: date}
                    age: {type: integer}
`

// TestFixes applies each fix of an object, and compares the text.
func TestFixes(t *testing.T) {
	const head = "apiVersion: a.example.com/v1\nkind: Boat\nmetadata: {name: a}\n"
	for _, c := range []struct{ object, title, want string }{
		{"spec:\n  nam: abc\n  oars: 3\n", "Rename to name", "spec:\n  name: abc\n  oars: 3\n"},
		{"spec:\n  nam: abc\n  oars: 3\n", "Remove spec.nam", "spec:\n  oars: 3\n"},
		{"spec:\n  x: abc\n", "Remove spec.x", "spec:\n  {}\n"},
		{"spec:\n  x:\n    a: 1\n    # of x\n    b:\n    - 2\n\n  oars: 3 # kept\n", "Remove spec.x",
			"spec:\n\n  oars: 3 # kept\n"},
		{"spec:\n  x:\n  - 1\n  - 2\n  oars: 3\n", "Remove spec.x", "spec:\n  oars: 3\n"},
		{"spec:\n  x: |\n    a: b\n    c\n  oars: 3\n", "Remove spec.x", "spec:\n  oars: 3\n"},
		{"spec:\n  crew:\n  - x: 1\n    role: cook\n    since: 2020-01-01\n", "Remove spec.crew[0].x",
			"spec:\n  crew:\n  - role: cook\n    since: 2020-01-01\n"},
		{"spec: {x: [1, {a: 'b, c'}], oars: 3}\n", "Remove spec.x", "spec: {oars: 3}\n"},
		{"spec: {oars: 3, x: 1}\n", "Remove spec.x", "spec: {oars: 3}\n"},
		{"spec: {x: 1}\n", "Remove spec.x", "spec: {}\n"},
		{"spec:\n  oars: 3 # three\n  # before\n  x: {a: 1} # of x\n  name: abc\n", "Remove spec.x",
			"spec:\n  oars: 3 # three\n  # before\n  name: abc\n"},
		{"spec:\n  x: [\n    1]\n", "Remove spec.x", "spec:\n  {}\n"},
		{"spec:\n  x: a\n    b\n\n    c # of x\n  oars: 3\n", "Remove spec.x", "spec:\n  oars: 3\n"},
		{"spec: {\"nam\": abc}\n", "Rename to name", "spec: {\"name\": abc}\n"},
		{"colour: red\nspec:\n  oars: 3\n", "Move to spec.colour", "spec:\n  oars: 3\n  colour: red\n"},
		{"spec:\n  oars: \"4\" # four\n", "Change to 4", "spec:\n  oars: 4 # four\n"},
		{"spec:\n  oars: 9\n", "Change to 8", "spec:\n  oars: 8\n"},
		{"spec:\n  oars: 1\n", "Change to 2", "spec:\n  oars: 2\n"},
		{"spec:\n  colour: rad\n", `Change to "red"`, "spec:\n  colour: red\n"},
		{"spec:\n  colour: rad\n", `Change to "no"`, "spec:\n  colour: \"no\"\n"},
		{"spec:\n  name: 1.10\n", `Change to "1.10"`, "spec:\n  name: \"1.10\"\n"},
		{"spec:\n  crew:\n  - role: cook\n", "Add since", "spec:\n  crew:\n  - role: cook\n    since: \"2026-01-31\"\n"},
		{"spec:\n  crew: [{since: 2020-01-01}]\n", "Add role",
			"spec:\n  crew: [{since: 2020-01-01, role: captain}]\n"},
		{"spec:\n  crew: [{}]\n", "Add role", "spec:\n  crew: [{role: captain}]\n"},
		{"spec:\n  crew: [{\"since\": \"2020-01-01\"}]\n", "Add role",
			"spec:\n  crew: [{\"since\": \"2020-01-01\", \"role\": \"captain\"}]\n"},
		{"spec:\r\n  crew:\r\n  - role: cook\r\n", "Add since",
			"spec:\r\n  crew:\r\n  - role: cook\r\n    since: \"2026-01-31\"\r\n"},
		{"spec:\n  crew:\n  - {\n    since: 2020-01-01,\n  }\n", "Add role",
			"spec:\n  crew:\n  - {\n    since: 2020-01-01,\n    role: captain\n  }\n"},
		{"spec:\n  crew:\n  - {\n    since: 2020-01-01, # s\n  }\n", "Add role",
			"spec:\n  crew:\n  - {\n    role: captain,\n    since: 2020-01-01, # s\n  }\n"},
		{"spec:\n  crew:\n  - {\n    since: 2020-01-01,\n    age: 2\n  }\n", "Add role",
			"spec:\n  crew:\n  - {\n    since: 2020-01-01,\n    age: 2,\n    role: captain\n  }\n"},
		// A member after the last one would be a part of the comment, or of the block scalar.
		{"spec:\n  crew:\n  - {since: 2020-01-01 # 1\n    }\n", "Add role",
			"spec:\n  crew:\n  - {role: captain, since: 2020-01-01 # 1\n    }\n"},
		{"colour: red\nspec:\n  name: |+\n    abc\n\n", "Move to spec.colour",
			"spec:\n  colour: red\n  name: |+\n    abc\n\n"},
		{"spec:\n  crew:\n  - \"role\": cook # 1\n  # 2\n", "Add since",
			"spec:\n  crew:\n  - \"role\": cook # 1\n    since: \"2026-01-31\"\n  # 2\n"},
		{"spec:\n  tags: a\n", `Change to ["a"]`, "spec:\n  tags: [\"a\"]\n"},
	} {
		r := evaluate(context.Background(), Input{CRD: crdOf(boat), Object: head + c.object})
		if r.Object == nil {
			t.Fatalf("%s: %s", c.object, encode(r))
		}
		var titles []string
		found := false
		for _, v := range r.Object.Violations {
			for _, f := range v.Fixes {
				titles = append(titles, f.Title)
				if f.Title == c.title && !found {
					found = true
					if got := apply(head+c.object, f); got != head+c.want {
						t.Errorf("%s of %q: %q, want %q", c.title, c.object, got[len(head):], c.want)
					}
				}
			}
		}
		if !found {
			t.Errorf("%q has no fix %q but %q: %s", c.object, c.title, titles, r.Object.Message)
		}
	}
}

// TestFixesInJSON checks a fix of JSON, whose strings stay in quotes.
func TestFixesInJSON(t *testing.T) {
	object := `{"apiVersion":"a.example.com/v1","kind":"Boat","metadata":{"name":"a"},"spec":{"colour":"rad","oars":3}}`
	r := evaluate(context.Background(), Input{CRD: crdOf(boat), Object: object})
	if got := apply(object, r.Object.Violations[0].Fixes[0]); got != strings.Replace(object, "rad", "red", 1) {
		t.Error(got)
	}
}

// TestNoFixOfAliases checks that no fix is offered if its edit would also change another value.
func TestNoFixOfAliases(t *testing.T) {
	object := "apiVersion: a.example.com/v1\nkind: Boat\nmetadata: {name: &n rad}\nspec:\n  colour: *n\n"
	r := evaluate(context.Background(), Input{CRD: crdOf(boat), Object: object})
	for _, f := range r.Object.Violations[0].Fixes {
		if got := apply(object, f); !strings.Contains(got, "&n rad") {
			t.Errorf("%q changes the name, too: %q", f.Title, got)
		}
	}
}

// TestPositions checks ranges behind characters of several UTF-8 bytes and UTF-16 units.
func TestPositions(t *testing.T) {
	object := "apiVersion: a.example.com/v1\nkind: Boat\nmetadata: {name: a} # \U0001f6a2ö\nspec:\n  name: \"\U0001f6a2\"\n  oars: x\n"
	r := evaluate(context.Background(), Input{CRD: crdOf(boat), Object: object})
	for _, v := range r.Object.Violations {
		want := map[string]Range{
			"spec.name": {Position{5, 9, 80}, Position{5, 12, 84}},
			"spec.oars": {Position{6, 9, 93}, Position{6, 10, 94}},
		}[strings.TrimPrefix(v.Field, ".")]
		if v.Range == nil || *v.Range != want {
			t.Errorf("%s: %+v, want %+v", v.Field, v.Range, want)
		}
	}
	if len(r.Object.Violations) != 3 {
		t.Errorf("%s", encode(r.Object.Violations))
	}
}
