package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// reasonLines returns one line for each violation: type, pointer, line:column, error, hint.
func reasonLines(list []Violation) (lines []string) {
	for i := range list {
		v := &list[i]
		lines = append(lines, reasonLine(v.Type, v.Pointer, v.Position, v.Error(), v.Hint))
	}
	return lines
}

func reasonLine(kind, pointer string, at *Position, text string, hint *Hint) string {
	line := fmt.Sprintf("%s %s %s %s", kind, pointer, place(at), text)
	if hint != nil {
		line += " (" + hint.Text + ")"
	}
	return line
}

const reasonsSpec = `{"type":"object","properties":{
	"size":{"type":"integer","maximum":9},"colour":{"type":"string"},
	"template":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}}}`

// TestReasons: every rejection has a violation at the value that is to be fixed. Its text is one short sentence.
func TestReasons(t *testing.T) {
	d := mustCompile(t, crdOf(reasonsSpec))
	const head = "apiVersion: stable.example.com/v1\nkind: CronTab\nmetadata:\n  name: a\n  namespace: b\n"
	for _, c := range []struct {
		name, yaml, json string
		create           Create // without the object
		want, next       []string
	}{
		{name: "unknown field", yaml: head + "spec:\n  sise: 1\n  size: 10\n",
			want: []string{`UnknownField /spec/sise 7:3 spec.sise: unknown field`},
			next: []string{`FieldValueInvalid /spec/size 8:9 spec.size: Invalid value: 10: spec.size in body should be less than or equal to 9`}},
		{name: "unknown fields of metadata", yaml: "apiVersion: stable.example.com/v1\nkind: CronTab\nmetadata:\n  name: a\n  namespace: b\n  label: {a: b}\n  generation: 1\nspec: {size: 1}\n",
			want: []string{`UnknownField /metadata/label 6:3 metadata.label: unknown field (did you mean "labels"?)`}},
		{name: "unknown field of an embedded resource", yaml: head + "spec:\n  template:\n    apiVersion: v1\n    kind: Pod\n    metadata: {name: x, colour: red}\n",
			want: []string{`UnknownField /spec/template/metadata/colour 10:25 spec.template.metadata.colour: unknown field`}},
		{name: "duplicate field", yaml: head + "spec:\n  size: 1\n  size: 10\n",
			want: []string{`DuplicateField /spec/size 8:3 spec.size: duplicate field (the "size" of line 7 is lost, since the last one counts: merge them, or remove one)`},
			next: []string{`FieldValueInvalid /spec/size 8:9 spec.size: Invalid value: 10: spec.size in body should be less than or equal to 9`}},
		{name: "duplicate field thrice", yaml: head + "spec:\n  size: 1\n  size: 2\n  size: 3\n",
			want: []string{`DuplicateField /spec/size 8:3 spec.size: duplicate field (the "size" of line 7 is lost, since the last one counts: merge them, or remove one)`}},
		{name: "duplicate and unknown field in a flow mapping", yaml: head + "spec: {size: 1, colou: x, size: 2}\n",
			want: []string{
				`UnknownField /spec/colou 6:17 spec.colou: unknown field (did you mean "colour"?)`,
				`DuplicateField /spec/size 6:27 spec.size: duplicate field (the "size" of line 6 is lost, since the last one counts: merge them, or remove one)`,
			}},
		{name: "overridden key of a merge", yaml: head + "spec:\n  template: &t {apiVersion: v1, kind: Pod}\n  <<: *t\n  size: 1\n",
			want: []string{
				`UnknownField /spec/apiVersion 7:17 spec.apiVersion: unknown field`,
				`UnknownField /spec/kind 7:33 spec.kind: unknown field`,
			}},
		{name: "duplicate key that is a number", yaml: head + "spec:\n  template:\n    apiVersion: v1\n    kind: Pod\n    1: a\n    1: b\n",
			want: []string{`DuplicateField /spec/template/1 11:5 spec.template.1: duplicate field (the "1" of line 10 is lost, since the last one counts: merge them, or remove one)`}},
		{name: "duplicate fields in JSON", json: `{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"a","namespace":"b"},
"spec":{"size":1,"template":{"apiVersion":"v1","kind":"Pod","a.b":[{"x":1,"x":2}]},
"size":2,"sice":1}}`,
			want: []string{
				`DuplicateField /spec/template/a.b/0/x 2:75 spec.template.a.b[0].x: duplicate field (the "x" of line 2 is lost, since the last one counts: merge them, or remove one)`,
				`DuplicateField /spec/size 3:1 spec.size: duplicate field (the "size" of line 2 is lost, since the last one counts: merge them, or remove one)`,
				`UnknownField /spec/sice 3:10 spec.sice: unknown field`,
			}},
		{name: "syntax: a key without a value", yaml: head + "spec:\n  size: 1\nstatus\n",
			want: []string{`SyntaxError  8:1 invalid YAML: this line needs a colon after a key`}},
		{name: "syntax: indentation", yaml: head + "spec:\n  size: 1\n   colour: red\n",
			want: []string{`SyntaxError  8:10 invalid YAML: a second colon, or a key with another indentation than its neighbours`}},
		{name: "syntax: a tab", yaml: head + "spec:\n\tsize: 1\n",
			want: []string{`SyntaxError  7:1 invalid YAML: a value cannot begin with this character: quote it, and indent with spaces`}},
		{name: "syntax: an open bracket", yaml: head + "spec: [1\nstatus: {}\n",
			want: []string{`SyntaxError  6:1 invalid YAML: did not find expected ',' or ']'`}},
		{name: "syntax: an open quote", yaml: head + "spec:\n  colour: \"red\n  size: 1\n",
			want: []string{`SyntaxError  7:11 invalid YAML: the quoted text that begins here does not end`}},
		{name: "syntax: less indentation", yaml: head + "spec:\n    size: 1\n  colour: red\n",
			want: []string{`SyntaxError  8:3 invalid YAML: did not find expected key`}},
		{name: "syntax: an unknown anchor", yaml: head + "spec:\n  size: *one\n",
			want: []string{`SyntaxError  7:9 invalid YAML: unknown anchor 'one' referenced`}},
		{name: "syntax: a control character", yaml: head + "spec:\n  colour: a\x01b\n",
			want: []string{`SyntaxError  7:12 invalid YAML: control characters are not allowed`}},
		{name: "syntax: a key in a flow", yaml: head + "spec: {size: 1 colour: x}\n",
			want: []string{`SyntaxError  6:1 invalid YAML: did not find expected ',' or '}'`}},
		{name: "syntax: an at sign", yaml: head + "spec:\n  colour: @red\n",
			want: []string{`SyntaxError  7:11 invalid YAML: a value cannot begin with this character: quote it, and indent with spaces`}},
		{name: "syntax: a percent sign", yaml: head + "spec:\n  colour: %red\n",
			want: []string{`SyntaxError  7:11 invalid YAML: a value cannot begin with this character: quote it, and indent with spaces`}},
		{name: "a second document", yaml: head + "spec: {}\n---\na: 1\n", create: Create{Version: "v1"},
			want: []string{`SyntaxError  7:1 invalid YAML: a second document begins here; send one document at a time`}},
		{name: "syntax of JSON: a comma", json: `{"apiVersion":"stable.example.com/v1",
"kind":"CronTab",}`, create: Create{Version: "v1"},
			want: []string{`SyntaxError  2:18 invalid JSON: invalid character '}' looking for beginning of object key string`}},
		{name: "syntax of JSON: a number out of range", json: `{"apiVersion":"stable.example.com/v1",
"a":1e999}`, create: Create{Version: "v1"},
			want: []string{`SyntaxError  2:5 the number 1e999 is out of range`}},
		{name: "syntax of JSON: the end", json: `{"a":
`, create: Create{Version: "v1"},
			want: []string{`SyntaxError  1:6 invalid JSON: unexpected end of JSON input`}},
		{name: "syntax of JSON: text behind", json: `{"a":1}
x`, create: Create{Version: "v1"},
			want: []string{`SyntaxError  2:1 invalid JSON: invalid character 'x' after top-level value`}},
		{name: "syntax of JSON: a string", json: `"x`, create: Create{Version: "v1"},
			want: []string{`SyntaxError  1:3 invalid JSON: unexpected end of JSON input`}},
		{name: "syntax of JSON: empty", json: ` `, create: Create{Version: "v1"},
			want: []string{`SyntaxError  1:1 invalid JSON: unexpected end of JSON input`}},
		{name: "not an object", yaml: "[1]\n", create: Create{Version: "v1"},
			want: []string{`DecodeError  1:1 must be an object, not a list`}},
		{name: "null", yaml: "null\n", create: Create{Version: "v1"},
			want: []string{`DecodeError  1:1 must be an object, not null`}},
		{name: "no kind and apiVersion", yaml: "metadata: {}\n", create: Create{Version: "v1"},
			want: []string{
				`DecodeError /apiVersion 1:1 apiVersion: must be set`,
				`DecodeError /kind 1:1 kind: must be set`,
			}},
		{name: "kind is a list", yaml: "apiVersion: stable.example.com/v1\nkind: [CronTab]\n", create: Create{Version: "v1"},
			want: []string{`DecodeError /kind 2:7 kind: must be a string, not a list`}},
		{name: "apiVersion is a number", yaml: "apiVersion: 1\nkind: CronTab\n", create: Create{Version: "v1"},
			want: []string{`DecodeError /apiVersion 1:13 apiVersion: must be a string, not an integer (did you mean "1", in quotes?)`}},
		{name: "apiVersion with two slashes", yaml: "apiVersion: a/b/c\nkind: CronTab\n", create: Create{Version: "v1"},
			want: []string{`DecodeError /apiVersion 1:13 apiVersion: must be GROUP/VERSION`}},
		{name: "an annotation that is a boolean", yaml: "apiVersion: stable.example.com/v1\nkind: CronTab\nmetadata:\n  name: a\n  namespace: b\n  annotations:\n    scrape: true\n    port: 8080\n    mode: 0644\n    on: off\n    version: 1.10\n    when: 2024-01-01\n    list: [a]\n    none: null\n",
			want: []string{
				`DecodeError /metadata/annotations/list 13:11 metadata.annotations[list]: must be a string, not a list`,
				`DecodeError /metadata/annotations/mode 9:11 metadata.annotations[mode]: must be a string, not an integer (did you mean "0644", in quotes?)`,
				`DecodeError /metadata/annotations/port 8:11 metadata.annotations[port]: must be a string, not an integer (did you mean "8080", in quotes?)`,
				`DecodeError /metadata/annotations/scrape 7:13 metadata.annotations[scrape]: must be a string, not a boolean (did you mean "true", in quotes?)`,
				`DecodeError /metadata/annotations/true 10:9 metadata.annotations[true]: must be a string, not a boolean (YAML takes off for false: did you mean "off", in quotes?)`,
				`DecodeError /metadata/annotations/version 11:14 metadata.annotations[version]: must be a string, not a number (did you mean "1.10", in quotes?)`,
			}},
		{name: "a label that is a number", yaml: "apiVersion: stable.example.com/v1\nkind: CronTab\nmetadata:\n  name: a\n  namespace: b\n  labels: {tier: 3}\n",
			want: []string{`DecodeError /metadata/labels/tier 6:18 metadata.labels[tier]: must be a string, not an integer (did you mean "3", in quotes?)`}},
		{name: "labels that are a list", yaml: "apiVersion: stable.example.com/v1\nkind: CronTab\nmetadata:\n  name: a\n  namespace: b\n  labels: [a]\n",
			want: []string{`DecodeError /metadata/labels 6:11 metadata.labels: must be an object, not a list`}},
		{name: "finalizers of numbers", yaml: "apiVersion: stable.example.com/v1\nkind: CronTab\nmetadata:\n  name: a\n  namespace: b\n  finalizers: [1, a/b, 2]\n",
			want: []string{
				`DecodeError /metadata/finalizers/0 6:16 metadata.finalizers[0]: must be a string, not an integer (did you mean "1", in quotes?)`,
				`DecodeError /metadata/finalizers/2 6:24 metadata.finalizers[2]: must be a string, not an integer (did you mean "2", in quotes?)`,
			}},
		{name: "malformed times", yaml: "apiVersion: stable.example.com/v1\nkind: CronTab\nmetadata:\n  name: a\n  namespace: b\n  creationTimestamp: yesterday\n  deletionTimestamp: 5\n",
			want: []string{
				`DecodeError /metadata/creationTimestamp 6:22 metadata.creationTimestamp: must be a time such as 2006-01-02T15:04:05Z`,
				`DecodeError /metadata/deletionTimestamp 7:22 metadata.deletionTimestamp: must be a time such as 2006-01-02T15:04:05Z`,
			}},
		{name: "owner references", yaml: "apiVersion: stable.example.com/v1\nkind: CronTab\nmetadata:\n  name: a\n  namespace: b\n  ownerReferences:\n  - {apiVersion: 1, kind: a, name: true, uid: x, controller: \"yes\"}\n  - x\n",
			want: []string{
				`DecodeError /metadata/ownerReferences/0/apiVersion 7:18 metadata.ownerReferences[0].apiVersion: must be a string, not an integer (did you mean "1", in quotes?)`,
				`DecodeError /metadata/ownerReferences/0/controller 7:62 metadata.ownerReferences[0].controller: must be a boolean, not a string (did you mean true, without quotes?)`,
				`DecodeError /metadata/ownerReferences/0/name 7:36 metadata.ownerReferences[0].name: must be a string, not a boolean (did you mean "true", in quotes?)`,
				`DecodeError /metadata/ownerReferences/1 8:5 metadata.ownerReferences[1]: must be an object, not a string`,
			}},
		{name: "numbers of metadata", yaml: "apiVersion: stable.example.com/v1\nkind: CronTab\nmetadata:\n  name: a\n  namespace: b\n  generation: x\n  deletionGracePeriodSeconds: 1.5\n",
			want: []string{
				`DecodeError /metadata/deletionGracePeriodSeconds 7:31 metadata.deletionGracePeriodSeconds: must be an integer, not a number`,
				`DecodeError /metadata/generation 6:15 metadata.generation: must be an integer, not a string`,
			}},
		{name: "managed fields", yaml: "apiVersion: stable.example.com/v1\nkind: CronTab\nmetadata:\n  name: a\n  namespace: b\n  managedFields: [{manager: 1, time: x, fieldsV1: 3, operation: [a]}]\n",
			want: []string{
				`DecodeError /metadata/managedFields/0/manager 6:29 metadata.managedFields[0].manager: must be a string, not an integer (did you mean "1", in quotes?)`,
				`DecodeError /metadata/managedFields/0/operation 6:65 metadata.managedFields[0].operation: must be a string, not a list`,
				`DecodeError /metadata/managedFields/0/time 6:38 metadata.managedFields[0].time: must be a time such as 2006-01-02T15:04:05Z`,
			}},
		{name: "name is a number", yaml: "apiVersion: stable.example.com/v1\nkind: CronTab\nmetadata:\n  name: 1\n  namespace: yes\n",
			want: []string{
				`DecodeError /metadata/name 4:9 metadata.name: must be a string, not an integer (did you mean "1", in quotes?)`,
				`DecodeError /metadata/namespace 5:14 metadata.namespace: must be a string, not a boolean (YAML takes yes for true: did you mean "yes", in quotes?)`,
			}},
		{name: "metadata is a list", yaml: "apiVersion: stable.example.com/v1\nkind: CronTab\nmetadata: [a]\n",
			want: []string{`DecodeError /metadata 3:11 metadata: must be an object, not a list`}},
		{name: "embedded metadata", yaml: head + "spec:\n  template: {apiVersion: v1, kind: Pod, metadata: {labels: {a: 1}}}\n",
			want: []string{`DecodeError /spec/template/metadata/labels/a 7:64 spec.template.metadata.labels[a]: must be a string, not an integer (did you mean "1", in quotes?)`}},
		{name: "embedded kind", yaml: head + "spec:\n  template: {apiVersion: v1, kind: 1}\n",
			want: []string{`DecodeError /spec/template/kind 7:36 spec.template.kind: must be a string, not an integer (did you mean "1", in quotes?)`}},
		{name: "another version", yaml: "apiVersion: stable.example.com/v2\nkind: CronTab\n", create: Create{Version: "v1"},
			want: []string{`Rejected /apiVersion 1:13 apiVersion: does not match the version of the request, stable.example.com/v1`}},
		{name: "another name and namespace", yaml: head, create: Create{Name: "x"},
			want: []string{`Rejected /metadata/name 4:9 metadata.name: does not match the name of the request, "x"`}},
		{name: "another namespace", yaml: head, create: Create{Namespace: "x"},
			want: []string{`Rejected /metadata/namespace 5:14 metadata.namespace: does not match the namespace of the request, "x"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			item := c.create
			if c.yaml != "" {
				item.Object = YAML([]byte(c.yaml))
			} else if c.json != "" {
				item.Object = JSON([]byte(c.json))
			}
			for _, call := range []func() (*Verdict, error){
				func() (*Verdict, error) {
					return d.Validate(t.Context(), item, ValidateOptions{FieldValidation: FieldValidationStrict})
				},
				func() (*Verdict, error) {
					return d.Admit(t.Context(), item, AdmitOptions{FieldValidation: FieldValidationStrict})
				},
			} {
				v, err := call()
				if err != nil {
					t.Fatal(err)
				}
				if got := reasonLines(v.Violations); v.Allowed || !slices.Equal(got, c.want) {
					t.Errorf("violations\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(c.want, "\n\t"))
				}
				if got := reasonLines(v.Next); !slices.Equal(got, c.next) {
					t.Errorf("next\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(c.next, "\n\t"))
				}
			}
		})
	}
}

// TestPositionOfNull: a required field that is null is at the null, in JSON as in YAML.
func TestPositionOfNull(t *testing.T) {
	d := mustCompile(t, crdOf(`{"type":"object","required":["size"],"properties":{"size":{"type":"integer"}}}`))
	for want, doc := range map[string]Document{
		"2:16": JSON([]byte(`{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"a","namespace":"b"},
"spec":{"size":null}}`)),
		"5:9": YAML([]byte("apiVersion: stable.example.com/v1\nkind: CronTab\nmetadata: {name: a, namespace: b}\nspec:\n  size: null\n")),
	} {
		v, err := d.Validate(context.Background(), Create{Object: doc}, ValidateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want = "FieldValueRequired /spec/size " + want + " spec.size: Required value"
		if got := strings.Join(reasonLines(v.Violations), "\n"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestPositionOfOldValue: a value that an update keeps from the old object is at its place in the new object, not at that
// of the old text.
func TestPositionOfOldValue(t *testing.T) {
	d := mustCompile(t, crdOf(`{"type":"object"}`))
	item := Update{Object: JSON([]byte(`{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"a","namespace":"b","generation":-1}}`)), Old: JSON([]byte("\n" + `{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"generation":-8,"name":"a","namespace":"b"}}`))}
	v, err := d.Validate(context.Background(), item, ValidateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, line := range reasonLines(v.Violations) {
		if strings.Contains(line, " /metadata/generation ") {
			if found++; !strings.Contains(line, " 1:108 ") {
				t.Errorf("got %q, want the position 1:108", line)
			}
		}
	}
	if found == 0 {
		t.Errorf("no violation of the generation: %q", reasonLines(v.Violations))
	}
}

// TestUpdateReasons: conflicts, patches and Scales have reasons, with positions in the body or the patch.
func TestUpdateReasons(t *testing.T) {
	d := mustCompile(t, strings.Replace(crdOf(`{"type":"object","properties":{"replicas":{"type":"integer","minimum":0}}}`),
		`"storage":true,`, `"storage":true,"subresources":{"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas"}},`, 1))
	const stored = `{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"a","namespace":"b","uid":"u","resourceVersion":"7","generation":1},"spec":{"replicas":1}}`
	object := func(metadata, rest string) Document {
		return JSON([]byte(`{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"a","namespace":"b"` + metadata + `}` + rest + `}`))
	}
	merge := func(text string) Patch {
		return Patch{Type: MergePatch, Body: JSON([]byte(text)), Version: "v1", Old: JSON([]byte(stored))}
	}
	list := func(text string) Patch {
		return Patch{Type: JSONPatch, Body: JSON([]byte(text)), Version: "v1", Old: JSON([]byte(stored))}
	}
	update := func(subresource string, object Document) Update {
		return Update{Object: object, Subresource: subresource, Version: "v1", Old: JSON([]byte(stored))}
	}
	scale := func(text string) Document {
		return JSON([]byte(`{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"a","namespace":"b"},` + text + `}`))
	}
	for _, c := range []struct {
		name       string
		item       Write
		want, next []string
	}{
		{name: "another uid", item: update("", object(`,"uid":"v"`, "")),
			want: []string{`Rejected /metadata/uid 1:101 metadata.uid: does not match the stored object: read it again and repeat the change`}},
		{name: "another resourceVersion", item: update("", object(`,"resourceVersion":"8"`, "")),
			want: []string{`Rejected /metadata/resourceVersion 1:113 metadata.resourceVersion: does not match the stored object: read it again and repeat the change`}},
		{name: "unknown field of an update", item: update("", object(`,"resourceVersion":"7"`, `,"spec":{"replica":1,"replicas":-1}`)),
			want: []string{`UnknownField /spec/replica 1:126 spec.replica: unknown field`},
			next: []string{
				`FieldValueInvalid /spec/replicas 1:149 spec.replicas: Invalid value: -1: spec.replicas in body should be greater than or equal to 0`,
				`FieldValueInvalid /spec/replicas 1:149 .spec.replicas: Invalid value: -1: should be a non-negative integer`,
			}},
		{name: "merge patch: syntax", item: merge(`{"spec":`),
			want: []string{`SyntaxError  1:9 invalid JSON: unexpected end of JSON input`}},
		{name: "merge patch: unknown field", item: merge(`{"spec":{"replica":2,"replicas":-1}}`),
			want: []string{`UnknownField /spec/replica 1:10 spec.replica: unknown field (did you mean "replicas"?)`},
			next: []string{
				`FieldValueInvalid /spec/replicas 1:33 spec.replicas: Invalid value: -1: spec.replicas in body should be greater than or equal to 0`,
				`FieldValueInvalid /spec/replicas 1:33 .spec.replicas: Invalid value: -1: should be a non-negative integer`,
			}},
		{name: "merge patch: duplicate field", item: merge(`{"spec":{"replicas":2,"replicas":3}}`),
			want: []string{`DuplicateField /spec/replicas 1:23 spec.replicas: duplicate field (the "replicas" of line 1 is lost, since the last one counts: merge them, or remove one)`}},
		{name: "merge patch: metadata", item: merge(`{"metadata":{"labels":{"a":1}}}`),
			want: []string{`DecodeError /metadata/labels/a 1:28 metadata.labels[a]: must be a string, not an integer`}},
		{name: "merge patch: not an object", item: merge(`1`),
			want: []string{`DecodeError  1:1 must be an object, not an integer`}},
		{name: "JSON patch: not applied", item: list(`[{"op":"test","path":"/spec/replicas","value":1},{"op":"remove","path":"/spec/x"}]`),
			want: []string{`Rejected  1:50 operation 1 (remove /spec/x): there is no "x" to remove`}},
		{name: "JSON patch: malformed", item: list(`[{"op":1}]`),
			want: []string{`DecodeError  1:8 [0].op: must be a string, not an integer`}},
		{name: "JSON patch: unknown field of the patch", item: list(`[{"op":"remove","path":"/spec/replicas","paht":1}]`),
			want: []string{`UnknownField  1:41 [0].paht: unknown field`}},
		{name: "JSON patch: unknown field", item: list(`[{"op":"add","path":"/spec/replica","value":1}]`),
			want: []string{`UnknownField /spec/replica 1:37 spec.replica: unknown field (did you mean "replicas"?)`}},
		{name: "Scale: type", item: update("scale", scale(`"spec":{"replicas":"1"}`)),
			want: []string{`DecodeError /spec/replicas 1:106 spec.replicas: must be an integer, not a string`}},
		{name: "Scale: unknown field", item: update("scale", scale(`"spec":{"replicas":-1,"x":1}`)),
			want: []string{`UnknownField /spec/x 1:109 spec.x: unknown field`},
			next: []string{
				`FieldValueInvalid /spec/replicas - spec.replicas: Invalid value: -1: spec.replicas in body should be greater than or equal to 0`,
				`FieldValueInvalid /spec/replicas - .spec.replicas: Invalid value: -1: should be a non-negative integer`,
			}},
		{name: "Scale: kind", item: update("scale", JSON([]byte(`{"kind":"X","apiVersion":"autoscaling/v1"}`))),
			want: []string{`Rejected /kind 1:9 kind: must be Scale`}},
		{name: "no subresource", item: update("status", object("", "")),
			want: []string{`Rejected  - crontabs.stable.example.com "a" not found`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, err := d.Admit(context.Background(), c.item, AdmitOptions{FieldValidation: FieldValidationStrict})
			if err != nil {
				t.Fatal(err)
			}
			if got := reasonLines(v.Violations); v.Allowed || !slices.Equal(got, c.want) {
				t.Errorf("violations\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(c.want, "\n\t"))
			}
			if got := reasonLines(v.Next); !slices.Equal(got, c.next) {
				t.Errorf("next\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(c.next, "\n\t"))
			}
		})
	}
}

// TestWarningReasons: warnings have a type, and the place of what they are about.
func TestWarningReasons(t *testing.T) {
	deprecated := strings.Replace(crdOf(reasonsSpec), `"served":true,`, `"served":true,"deprecated":true,`, 1)
	d := mustCompile(t, deprecated)
	const head = "apiVersion: stable.example.com/v1\nkind: CronTab\nmetadata:\n  name: a\n  namespace: b\n"
	const owner = "  - {apiVersion: v1, kind: A, name: a, uid: u}\n"
	v, err := d.Admit(context.Background(), Create{Object: YAML([]byte(head + "  colour: red\n  finalizers: [a/b, x]\n  ownerReferences:\n" +
		owner + owner + "spec:\n  color: 1\n  size: 1\n  size: 2\n"))}, AdmitOptions{})
	if err != nil || !v.Allowed {
		t.Fatal(err, v.Rejection)
	}
	var got []string
	for _, w := range v.Warnings {
		got = append(got, reasonLine(w.Type, w.Pointer, w.Position, w.Field, w.Hint))
	}
	want := []string{
		"Deprecated /apiVersion 1:13 apiVersion",
		`DuplicateField /spec/size 14:3 spec.size (the "size" of line 13 is lost, since the last one counts: merge them, or remove one)`,
		`UnknownField /metadata/colour 6:3 metadata.colour`,
		`UnknownField /spec/color 12:3 spec.color (did you mean "colour"?)`,
		"Warning /metadata/ownerReferences 9:3 metadata.ownerReferences",
		"Warning /metadata/finalizers/1 7:21 metadata.finalizers",
	}
	if !slices.Equal(got, want) {
		t.Errorf("warnings\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// TestErrorReasons: errors about documents that cannot be read or decoded have violations.
func TestErrorReasons(t *testing.T) {
	d := mustCompile(t, crdOf(reasonsSpec))
	labels := JSON([]byte(`{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"labels":{"a":1}}}`))
	for name, c := range map[string]struct {
		call func() error
		want string
	}{
		"Prune": {func() error {
			_, err := d.Prune(context.Background(), labels, TransformOptions{})
			return err
		},
			`DecodeError /metadata/labels/a 1:82 metadata.labels[a]: must be a string, not an integer (did you mean "1", in quotes?)`},
		"Read": {func() error {
			_, err := d.Read(context.Background(), JSON([]byte(`{"kind":`)), ReadOptions{})
			return err
		}, "SyntaxError  1:9 invalid JSON: unexpected end of JSON input"},
		"TypeMetaOf": {func() error { _, _, err := YAML([]byte("a: 1\nb: [1\nc: 2\n")).TypeMeta(Limits{}); return err },
			"SyntaxError  2:1 invalid YAML: did not find expected ',' or ']'"},
	} {
		var e *Error
		if err := c.call(); !errors.As(err, &e) {
			t.Fatalf("%s: %v", name, err)
		}
		if got := reasonLines(e.Violations); !slices.Equal(got, []string{c.want}) {
			t.Errorf("%s: %q, want %s", name, got, c.want)
		}
	}
}
