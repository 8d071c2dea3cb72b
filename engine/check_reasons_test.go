package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// manifestOf returns a CRD in YAML whose property code, of spec, has this schema. more are further lines of the version.
func manifestOf(code string, more ...string) string {
	return `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gadgets, kind: Gadget}
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
              code: ` + strings.ReplaceAll(code, "\n", "\n                ") + "\n" + strings.Join(more, "\n")
}

const atCode = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/code"

// reasonsOf returns the violations, or the warnings, of a report: type, pointer, position, message, hint.
func reasonsOf(r *Report, warned bool) (list []string) {
	line := func(of, pointer string, at *Position, message string, h *Hint) {
		text := fmt.Sprintf("%s %s %s %s", of, strings.Replace(pointer, atCode, "…", 1), place(at), message)
		if h != nil {
			text += " | " + h.Text
		}
		list = append(list, text)
	}
	if !warned {
		for _, v := range r.Violations {
			line(v.Type, v.Pointer, v.Position, v.Message, v.Hint)
		}
		return list
	}
	for _, w := range r.Warnings {
		line(w.Type, w.Pointer, w.Position, w.Text, w.Hint)
	}
	return list
}

func compareReasons(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// TestUndecodableManifests checks that each wrong value is a violation, with the hint what was probably meant.
func TestUndecodableManifests(t *testing.T) {
	column := "    additionalPrinterColumns:\n    - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}\n    - {name: Y, type: string, jsonPath: .spec.code}"
	tests := []struct {
		name, manifest string
		want           []string
	}{
		{"a column of YAML 1.1, and a number in quotes", manifestOf(`{type: string, maxLength: "10"}`, column), []string{
			`DecodeError /spec/versions/0/additionalPrinterColumns/1/name 22:14 must be a string, not a boolean | YAML takes Y for true: did you mean "Y", in quotes?`,
			`DecodeError …/maxLength 19:47 must be an integer, not a string | did you mean the number 10, without quotes?`,
		}},
		{"short names", strings.Replace(manifestOf("{type: string}"), "kind: Gadget", "kind: Gadget, shortNames: [no, y, 1.50, ok]", 1), []string{
			`DecodeError /spec/names/shortNames/0 7:55 must be a string, not a boolean | YAML takes no for false: did you mean "no", in quotes?`,
			`DecodeError /spec/names/shortNames/1 7:59 must be a string, not a boolean | YAML takes y for true: did you mean "y", in quotes?`,
			`DecodeError /spec/names/shortNames/2 7:62 must be a string, not a number | did you mean "1.50", in quotes?`,
		}},
		{"required", manifestOf("{type: string, required: true}"), []string{
			`DecodeError …/required 19:46 must be a list, not a boolean | required is a list of names of properties in the schema of the parent: add "code" to its list, and remove this`,
		}},
		{"one required name", manifestOf("{type: object, required: a}"), []string{
			`DecodeError …/required 19:46 must be a list, not a string | a list is wanted: did you mean ["a"]?`,
		}},
		{"pattern", manifestOf("{type: string, pattern: 0123}"), []string{
			`DecodeError …/pattern 19:45 must be a string, not an integer | did you mean "0123", in quotes?`,
		}},
		{"a type and null", manifestOf(`{type: [string, "null"]}`), []string{
			`DecodeError …/type 19:28 must be a string, not a list | use type: string and nullable: true`,
		}},
		{"an integer or a string", manifestOf(`{type: [integer, string]}`), []string{
			`DecodeError …/type 19:28 must be a string, not a list | use x-kubernetes-int-or-string: true instead of type`,
		}},
		{"a list of one type", manifestOf(`{type: [string]}`), []string{
			`DecodeError …/type 19:28 must be a string, not a list | no list is wanted: did you mean its one element, "string"?`,
		}},
		{"a bound of JSON Schema", manifestOf(`{type: integer, exclusiveMinimum: 5}`), []string{
			`DecodeError …/exclusiveMinimum 19:55 must be a boolean, not an integer | exclusiveMinimum is true or false: use minimum: 5 and exclusiveMinimum: true`,
		}},
		{"below items and additionalProperties", manifestOf("\ntype: object\nproperties:\n  l: {type: array, items: {type: string, pattern: 1}}\n  m: {type: object, additionalProperties: {type: 2}}\n  o: {type: object, additionalProperties: 3}"), []string{
			`DecodeError …/properties/l/items/pattern 22:67 must be a string, not an integer | did you mean "1", in quotes?`,
			`DecodeError …/properties/m/additionalProperties/type 23:66 must be a string, not an integer | did you mean "2", in quotes?`,
			`DecodeError …/properties/o/additionalProperties 24:59 must be an object or a boolean, not an integer`,
		}},
		{"a fraction and a large number", manifestOf(`{type: string, maxLength: 1.5, minLength: 9223372036854775808}`), []string{
			`DecodeError …/maxLength 19:47 must be an integer, not 1.5`,
			`DecodeError …/minLength 19:63 must be an integer, not 9223372036854776000`,
		}},
		{"a placeholder of bytes", strings.Replace(manifestOf("{type: string}"), "  versions:", "  conversion:\n    strategy: Webhook\n    webhook:\n      conversionReviewVersions: [v1]\n      clientConfig: {caBundle: <CA>, service: {name: a, namespace: b, port: 99999999999}}\n  versions:", 1), []string{
			`DecodeError /spec/conversion/webhook/clientConfig/caBundle 12:32 must be text in base64 | write the bytes in base64, or remove the field if a controller sets it later`,
			`DecodeError /spec/conversion/webhook/clientConfig/service/port 12:77 must be an integer of 32 bits`,
		}},
		{"a list instead of an object", strings.Replace(manifestOf("{type: string}"), "metadata: {name: gadgets.example.com}", "metadata: {name: gadgets.example.com, labels: {a: true}, annotations: [a]}", 1), []string{
			`DecodeError /metadata/annotations 3:71 must be an object, not a list`,
			`DecodeError /metadata/labels/a 3:51 must be a string, not a boolean | did you mean "true", in quotes?`,
		}},
		{"v1beta1", strings.ReplaceAll(strings.Replace(manifestOf("{type: string, pattern: 1}"), "k8s.io/v1", "k8s.io/v1beta1", 1), "served: true", "served: 1"), []string{
			`DecodeError …/pattern 19:45 must be a string, not an integer | did you mean "1", in quotes?`,
			`DecodeError /spec/versions/0/served 10:13 must be a boolean, not an integer | did you mean true?`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := Check(context.Background(), YAML([]byte(tt.manifest)), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if r.Accepted || r.Rejection == nil || r.Rejection.Code != 400 {
				t.Fatalf("%+v", r)
			}
			compareReasons(t, reasonsOf(r, false), tt.want)
		})
	}
}

// TestManifestsWithoutType checks the errors for documents whose apiVersion and kind cannot be read.
func TestManifestsWithoutType(t *testing.T) {
	for _, tt := range []struct{ text, message, at string }{
		{"# none\n- a\n", "manifest: must be an object, not a list", "2:1"},
		{"apiVersion: apiextensions.k8s.io/v1\nkind: on\n", "manifest: kind must be a string, not a boolean", "2:7"},
		{"kind: CustomResourceDefinition\napiVersion: 1\n", "manifest: apiVersion must be a string, not an integer", "2:13"},
	} {
		_, err := Check(context.Background(), YAML([]byte(tt.text)), Options{})
		own := (*Error)(nil)
		if !errors.As(err, &own) || own.Reason != ReasonManifestUnreadable || own.Message != tt.message || place(own.Position) != tt.at {
			t.Errorf("%v, %+v", err, own)
		}
	}
}

// TestNumbersBeyondFloat64 checks manifests in which no tree can hold a number.
func TestNumbersBeyondFloat64(t *testing.T) {
	const known, unknown = `"spec":{"group"`, `"spec":{
"x":[-1.5e999,1e999],"group"`
	tests := []struct{ name, manifest, want string }{
		{"beside another wrong value", strings.Replace(strings.Replace(cronTabCRD, known, unknown, 1), `"scope":"Namespaced"`, `"scope":1`, 1),
			"DecodeError /spec/scope 3:59 must be a string, not an integer"},
		{"in a default", strings.Replace(cronTabCRD, `"cronSpec":{"type":"string"`, `"cronSpec":{
"default":[1e999],"type":"string"`, 1), "DecodeError  6:12 a number is out of range"},
	}
	for _, tt := range tests {
		r, err := Check(context.Background(), JSON([]byte(tt.manifest)), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(reasonsOf(r, false), "\n"); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: %s", tt.name, got)
		}
	}
	r, err := Check(context.Background(), JSON([]byte(strings.Replace(cronTabCRD, known, unknown, 1))), Options{})
	if err != nil || !r.Accepted {
		t.Fatalf("%v %+v", err, r)
	}
	compareReasons(t, reasonsOf(r, true), []string{`UnknownField /spec/x 3:1 unknown field "spec.x"`})
}
