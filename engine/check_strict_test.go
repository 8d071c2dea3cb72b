package engine

import (
	"context"
	"strings"
	"testing"
)

const betaManifest = `apiVersion: apiextensions.k8s.io/v1beta1
kind: CustomResourceDefinition
metadata: {name: olds.example.com}
spec:
  group: example.com
  version: v1
  scope: Namespaced
  names: {kind: Old, plural: olds}
  preserveUnknownFields: false
  validation:
    openAPIV3Schema: {type: object, properties: {spec: {type: object}}}
status: {}
`

// TestStrictManifests checks unknown and duplicate fields of manifests with each FieldValidation.
func TestStrictManifests(t *testing.T) {
	versionsBeside := strings.Replace(manifestOf("{type: string}"), "  versions:", "  additionalPrinterColumns: []\n  versions:", 1)
	twice := manifestOf("\ntype: integer\nx-kubernetes-validations:\n- rule: self != 7\nx-kubernetes-validations:\n- rule: self != 8")
	tests := []struct {
		name     string
		manifest Document
		want     []string // with FieldValidationStrict
		warnings []string // with FieldValidationWarn
		next     int
	}{
		{"a misspelt keyword", YAML([]byte(manifestOf("{type: string, maxlength: 3}"))), []string{
			`UnknownField …/maxlength 19:36 unknown field | did you mean "maxLength"?`,
		}, []string{
			`UnknownField …/maxlength 19:36 unknown field "spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.code.maxlength" | did you mean "maxLength"?`,
		}, 0},
		{"a misspelt keyword beside the right one", YAML([]byte(manifestOf("{type: string, maxlength: 5, maxLength: 3}"))), []string{
			`UnknownField …/maxlength 19:36 unknown field`,
		}, nil, 0},
		{"rules", YAML([]byte(manifestOf("{type: string, x-kubernetes-validation: [{rule: 'true'}]}"))), []string{
			`UnknownField …/x-kubernetes-validation 19:36 unknown field | did you mean "x-kubernetes-validations"?`,
		}, nil, 0},
		{"a wrong level", YAML([]byte(versionsBeside)), []string{
			`UnknownField /spec/additionalPrinterColumns 8:3 unknown field | "additionalPrinterColumns" is declared one level down, in the items of spec.versions`,
		}, nil, 0},
		{"keywords of JSON Schema, and other errors", YAML([]byte(manifestOf("{type: strin, const: a, examples: [b], name: {type: string}}"))), []string{
			`UnknownField …/const 19:35 unknown field | use an enum with one value: enum: ["a"]`,
			`UnknownField …/examples 19:45 unknown field | did you mean "example"?`,
			`UnknownField …/name 19:60 unknown field | did you mean a property? Properties are declared in "properties"`,
		}, nil, 1},
		{"duplicate keys of YAML", YAML([]byte(twice)), []string{
			`DuplicateField …/x-kubernetes-validations 23:17 duplicate field | the "x-kubernetes-validations" of line 21 is lost, since the last one counts: merge them, or remove one`,
		}, []string{
			`DuplicateField …/x-kubernetes-validations 23:17 line 24: key "x-kubernetes-validations" already set in map | the "x-kubernetes-validations" of line 21 is lost, since the last one counts: merge them, or remove one`,
		}, 0},
		{"duplicate keys of JSON", JSON([]byte(strings.Replace(cronTabCRD, `"scope":"Namespaced"`, `"scope":"Cluster",
"scope":"Namespaced","a":{"b":1,"b":2}`, 1))), []string{
			`DuplicateField /spec/scope 3:1 duplicate field | the "scope" of line 2 is lost, since the last one counts: merge them, or remove one`,
			`UnknownField /spec/a 3:22 unknown field`,
		}, nil, 0},
		{"where upstream does not look", YAML([]byte(manifestOf("{type: array, items: {type: string, maxlength: 3}}"))), nil, []string{
			`Notice …/items/maxlength 19:57 crdeval: unknown field "spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.code.items.maxlength": ` +
				`API servers drop it, and strict validation does not report it here | did you mean "maxLength"?`,
		}, 0},
		{"v1beta1", YAML([]byte(betaManifest + "specs: 1\n")), []string{
			`UnknownField /specs 13:1 unknown field`,
		}, nil, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			check := func(mode FieldValidation) *Report {
				r, err := Check(context.Background(), tt.manifest, Options{FieldValidation: mode})
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			r := check(FieldValidationStrict)
			compareReasons(t, reasonsOf(r, false), tt.want)
			switch {
			case r.Accepted != (tt.want == nil), len(r.Next) != tt.next:
				t.Errorf("accepted %v, next %v", r.Accepted, r.Next)
			case !r.Accepted && (r.Rejection.Code != 400 || !strings.Contains(r.Rejection.Message, ": strict decoding error: ")):
				t.Errorf("%+v", r.Rejection)
			case len(r.KubernetesWarnings) > 0:
				t.Errorf("a rejection with the warnings %q", r.KubernetesWarnings)
			}
			warned := check(FieldValidationWarn)
			if warned.Accepted != (tt.next == 0) {
				t.Errorf("with warnings: accepted %v", warned.Accepted)
			}
			if tt.warnings != nil {
				compareReasons(t, reasonsOf(warned, true), tt.warnings)
			}
			for _, w := range check(FieldValidationIgnore).Warnings {
				if strings.Contains(w.Text, "unknown field") || w.Type == TypeDuplicateField {
					t.Errorf("ignored: %q", w.Text)
				}
			}
		})
	}
}

// TestNotices checks the notes about CRDs that API servers accept.
func TestNotices(t *testing.T) {
	long := strings.Repeat("é<", 33_000) // 8 bytes each in the annotation
	rule := "\n  - {rule: self != 7, message: "
	tests := []struct {
		name, manifest string
		want           []string
	}{
		{"v1beta1", betaManifest, []string{
			`Notice /apiVersion 1:13 crdeval: Kubernetes 1.22 and later do not serve apiextensions.k8s.io/v1beta1: kubectl cannot apply this manifest | ` +
				`convert the manifest to apiextensions.k8s.io/v1`,
		}},
		{"too large for an annotation", manifestOf("{type: string, description: '" + long + "'}"), []string{
			`Notice /metadata 3:11 crdeval: kubectl apply fails: it stores the manifest in an annotation, and the annotations would have 264479 bytes, more than 262144 | use kubectl apply --server-side, or shorten descriptions`,
		}},
		{"the same rule twice", manifestOf("\ntype: integer\nx-kubernetes-validations:" + rule + "a}" + rule + "b}"), []string{
			`Notice …/x-kubernetes-validations/1/rule 23:28 crdeval: kubectl apply --server-side fails: x-kubernetes-validations[0] has the same rule | remove one of the two`,
		}},
		{"the same rule twice below items", manifestOf("\ntype: array\nitems:\n  type: integer\n  x-kubernetes-validations:" + rule + "a}" + rule + "b}"), nil},
		{"an enum of YAML 1.1", manifestOf(`{type: string, enum: [on, "off", 1.10, null]}`), []string{
			`Notice …/enum/0 19:43 crdeval: the value true of the enum never matches: the type of the schema is string | YAML takes on for true: did you mean "on", in quotes?`,
			`Notice …/enum/2 19:54 crdeval: the value 1.1 of the enum never matches: the type of the schema is string | did you mean "1.10", in quotes?`,
		}},
		{"an enum of integers", manifestOf(`{type: integer, enum: [1, "2", 3.0, 1.5]}`), []string{
			`Notice …/enum/1 19:47 crdeval: the value "2" of the enum never matches: the type of the schema is integer | did you mean the number 2, without quotes?`,
			`Notice …/enum/3 19:57 crdeval: the value 1.5 of the enum never matches: the type of the schema is integer`,
		}},
		{"enums below logical operators", manifestOf("\ntype: string\nallOf: [{enum: [on, off]}]\nanyOf: [{enum: [yes]}, {enum: [a]}]\noneOf: [{allOf: [{enum: [1.10]}]}]\nnot: {enum: [no]}"), []string{
			`Notice …/allOf/0/enum/0 21:33 crdeval: the value true of the enum never matches: the type of the schema is string | YAML takes on for true: did you mean "on", in quotes?`,
			`Notice …/allOf/0/enum/1 21:37 crdeval: the value false of the enum never matches: the type of the schema is string | YAML takes off for false: did you mean "off", in quotes?`,
			`Notice …/anyOf/0/enum/0 22:33 crdeval: the value true of the enum never matches: the type of the schema is string | YAML takes yes for true: did you mean "yes", in quotes?`,
			`Notice …/not/enum/0 24:30 crdeval: the value false of the enum never matches: the type of the schema is string | YAML takes no for false: did you mean "no", in quotes?`,
			`Notice …/oneOf/0/allOf/0/enum/0 23:42 crdeval: the value 1.1 of the enum never matches: the type of the schema is string | did you mean "1.10", in quotes?`,
		}},
		{"enums of properties below logical operators", manifestOf("\ntype: object\nproperties: {not: {type: string}, num: {type: integer}, l: {type: array, items: {type: string}}}\nanyOf:\n" +
			"- properties: {not: {enum: [on]}, num: {enum: [1, \"2\"]}}\n- properties: {l: {items: {enum: [off]}}, num: {not: {enum: [3]}}}"), []string{
			`Notice …/anyOf/0/properties/not/enum/0 23:45 crdeval: the value true of the enum never matches: the type of the schema is string | YAML takes on for true: did you mean "on", in quotes?`,
			`Notice …/anyOf/0/properties/num/enum/1 23:67 crdeval: the value "2" of the enum never matches: the type of the schema is integer | did you mean the number 2, without quotes?`,
			`Notice …/anyOf/1/properties/l/items/enum/0 24:51 crdeval: the value false of the enum never matches: the type of the schema is string | YAML takes off for false: did you mean "off", in quotes?`,
		}},
		{"enums of int-or-string", manifestOf("{x-kubernetes-int-or-string: true, enum: [on, 1, \"2\", 1.50], not: {enum: [off, 7]}}"), []string{
			`Notice …/enum/0 19:63 crdeval: the value true of the enum never matches: the type of the schema is integer or string | YAML takes on for true: did you mean "on", in quotes?`,
			`Notice …/enum/3 19:75 crdeval: the value 1.5 of the enum never matches: the type of the schema is integer or string | did you mean "1.50", in quotes?`,
			`Notice …/not/enum/0 19:95 crdeval: the value false of the enum never matches: the type of the schema is integer or string | YAML takes off for false: did you mean "off", in quotes?`,
		}},
		{"an enum without a type", manifestOf("{x-kubernetes-preserve-unknown-fields: true, enum: [on, 1], allOf: [{enum: [off]}]}"), nil},
		{"an enum in a default", manifestOf(`{type: object, x-kubernetes-preserve-unknown-fields: true, default: {type: string, enum: [1]}}`), nil},
		{"an enum of a property with the name properties", manifestOf("\ntype: object\nproperties:\n  properties: {type: integer, enum: [\"2\"]}"), []string{
			`Notice …/properties/properties/enum/0 22:54 crdeval: the value "2" of the enum never matches: the type of the schema is integer | did you mean the number 2, without quotes?`,
		}},
		{"properties of YAML 1.1", manifestOf("\ntype: object\nproperties:\n  y: {type: string}\n  1.50: {type: string}\n  0x10: {type: string}\n  \"on\": {type: string}\n  1: {type: string}\n  list:\n    type: array\n    items: {type: object, properties: {no: {type: string}}}"), []string{
			`Notice …/properties/1.5 23:25 crdeval: YAML 1.1 reads the property name 1.50 as 1.5 | did you mean "1.50", in quotes?`,
			`Notice …/properties/16 24:25 crdeval: YAML 1.1 reads the property name 0x10 as 16 | did you mean "0x10", in quotes?`,
			`Notice …/properties/true 22:22 crdeval: YAML 1.1 reads the property name y as true | did you mean "y", in quotes?`,
			`Notice …/properties/list/items/properties/false 29:60 crdeval: YAML 1.1 reads the property name no as false | did you mean "no", in quotes?`,
		}},
		{"warnings of API servers", manifestOf("\ntype: object\nproperties:\n  a: {type: string, format: shoe}\n  b: {type: array, x-kubernetes-list-type: set, items: {type: array, x-kubernetes-list-type: atomic, items: {type: string}}}"), []string{
			`Warning …/properties/a/format 22:45 unrecognized format "shoe"`,
			`Warning …/properties/b/x-kubernetes-list-type 23:60 x-kubernetes-list-type: set for items of type "array" is not supported by server-side apply or CEL validation rules`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := Check(context.Background(), YAML([]byte(tt.manifest)), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if !r.Accepted {
				t.Fatalf("%+v", r.Violations)
			}
			compareReasons(t, reasonsOf(r, true), tt.want)
			for _, text := range r.KubernetesWarnings {
				if strings.HasPrefix(text, "crdeval: ") {
					t.Errorf("an API server does not send %q", text)
				}
			}
		})
	}
}

// TestHintsOfCRDs checks hints about field errors of CRDs.
func TestHintsOfCRDs(t *testing.T) {
	tests := []struct {
		code string
		want []string
	}{
		{`{type: string, enum: ["True", "False"], default: True}`, []string{
			`FieldValueTypeInvalid …/default 19:70 Invalid value: "boolean":  in body must be of type string: "boolean" | did you mean "True", in quotes?`,
			`FieldValueNotSupported …/default 19:70 Unsupported value: true: supported values: "True", "False" | did you mean "True", in quotes?`,
		}},
		{`{type: object, properties: {l: {type: array, items: {type: string}}}, default: {l: [0644]}}`, []string{
			`FieldValueTypeInvalid …/default/l/0 19:105 Invalid value: "integer": l[0] in body must be of type string: "integer" | did you mean "0644", in quotes?`,
		}},
	}
	for _, tt := range tests {
		r, err := Check(context.Background(), YAML([]byte(manifestOf(tt.code))), Options{})
		if err != nil {
			t.Fatal(err)
		}
		compareReasons(t, reasonsOf(r, false), tt.want)
	}
}
