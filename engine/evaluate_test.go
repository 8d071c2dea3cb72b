package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// richCRD has what the pipelines tell apart: two versions, defaults, nullables, an embedded resource, a set,
// subresources.
const richCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gadgets, kind: Gadget}
  versions:
  - name: v1alpha1
    served: true
    storage: false
    deprecated: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer}}}
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer, default: 3}
              color: {type: string, enum: [red, blue]}
              note: {type: string, nullable: true}
              tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}
              template: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
          status: {type: object, properties: {size: {type: integer}}}
  - name: v0
    served: false
    storage: false
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

func rich(t *testing.T) *Definition {
	t.Helper()
	d, report, err := Compile(context.Background(), YAML([]byte(richCRD)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if d == nil {
		t.Fatalf("rejected: %+v", report.Violations)
	}
	return d
}

func gadget(rest string) Document {
	return JSON([]byte(`{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"g","namespace":"d"}` + rest + `}`))
}

func TestValidate(t *testing.T) {
	d := rich(t)
	const deprecated = "example.com/v1alpha1 Gadget is deprecated; use example.com/v1 Gadget"
	tests := []struct {
		name       string
		item       Write
		options    ValidateOptions
		violations []string // Error(), pointer, schema pointer, line:column, step
		rejection  string
		code       int32
		warnings   []string
	}{
		{name: "valid", item: Create{Object: gadget(`,"spec":{"color":"red"}`)}},
		{name: "unknown field warns", item: Create{Object: gadget(`,"spec":{"colour":"red"}`)}, warnings: []string{`unknown field "spec.colour"`}},
		{name: "unknown field ignored", item: Create{Object: gadget(`,"spec":{"colour":"red"}`)}, options: ValidateOptions{FieldValidation: FieldValidationIgnore}},
		{name: "unknown field rejected", item: Create{Object: gadget(`,"spec":{"colour":"red","size":1,"size":2}`)}, options: ValidateOptions{FieldValidation: FieldValidationStrict},
			code: 400, rejection: `Gadget in version "v1" cannot be handled as a Gadget: strict decoding error: duplicate field "spec.size", unknown field "spec.colour"`,
			violations: []string{`spec.colour: unknown field | /spec/colour |  | 1:96 | DECODE`, `spec.size: duplicate field | /spec/size |  | 1:120 | DECODE`}},
		{name: "finding with its places", item: Create{Object: JSON([]byte("{\"apiVersion\":\"example.com/v1\",\"kind\":\"Gadget\",\n\"metadata\":{\"name\":\"g\",\"namespace\":\"d\"},\n\"spec\":{\"color\":\"ä\", \"tags\":[\"a\",\"a\"]}}"))},
			code: 422, rejection: `Gadget.example.com "g" is invalid: [spec.color: Unsupported value: "ä": supported values: "red", "blue", spec.tags[1]: Duplicate value: "a"]`,
			violations: []string{
				`spec.color: Unsupported value: "ä": supported values: "red", "blue" | /spec/color | /properties/spec/properties/color/enum | 3:17 | SCHEMA`,
				`spec.tags[1]: Duplicate value: "a" | /spec/tags/1 | /properties/spec/properties/tags/x-kubernetes-list-type | 3:34 | LIST`,
			}},
		{name: "places in YAML", item: Create{Object: YAML([]byte("# a comment\napiVersion: example.com/v1\nkind: Gadget\nmetadata: {name: G, namespace: d}\nspec:\n  color: 7\n"))},
			code: 422, rejection: "*", violations: []string{
				`metadata.name: Invalid value: "G": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*') | /metadata/name |  | 4:18 | METADATA`,
				`spec.color: Invalid value: "integer": spec.color in body must be of type string: "integer" | /spec/color | /properties/spec/properties/color/type | 6:10 | SCHEMA`,
				`spec.color: Unsupported value: 7: supported values: "red", "blue" | /spec/color | /properties/spec/properties/color/enum | 6:10 | SCHEMA`,
			}},
		{name: "YAML duplicates", item: Create{Object: YAML([]byte("apiVersion: example.com/v1\nkind: Gadget\nmetadata: {name: g, namespace: d}\nspec: {size: 1, size: 2}\n"))},
			warnings: []string{`line 4: key "size" already set in map`}},
		{name: "status is dropped on create", item: Create{Object: gadget(`,"status":{"size":"many"}`)}},
		{name: "scale", item: Create{Object: gadget(`,"spec":{"size":-1}`)}, code: 422, rejection: "*",
			violations: []string{`.spec.size: Invalid value: -1: should be a non-negative integer | /spec/size |  | 1:103 | SCALE`}},
		{name: "embedded resource", item: Create{Object: gadget(`,"spec":{"template":{"kind":"Pod"}}`)}, code: 422, rejection: "*",
			violations: []string{`spec.template.apiVersion: Required value | /spec/template/apiVersion | /properties/spec/properties/template/x-kubernetes-embedded-resource | 1:107 | EMBEDDED`}},
		{name: "another version than the endpoint's", item: Create{Version: "v1alpha1", Object: gadget("")}, code: 400, warnings: []string{deprecated},
			rejection:  "the API version in the data (example.com/v1) does not match the expected API version (example.com/v1alpha1)",
			violations: []string{`apiVersion: does not match the version of the request, example.com/v1alpha1 | /apiVersion |  | 1:15 | REQUEST`}},
		{name: "another kind", item: Create{Object: JSON([]byte(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"g","namespace":"d"},"spec":{"tags":["a","a"],"color":1}}`))},
			code: 422, rejection: `Widget.example.com "g" is invalid: [kind: Invalid value: "Widget": must be Gadget, spec.tags[1]: Duplicate value: "a"]`,
			violations: []string{
				`kind: Invalid value: "Widget": must be Gadget | /kind |  | 1:39 | TYPE_META`,
				`spec.tags[1]: Duplicate value: "a" | /spec/tags/1 | /properties/spec/properties/tags/x-kubernetes-list-type | 1:108 | LIST`,
			}},
		{name: "no kind", item: Create{Version: "v1", Object: JSON([]byte(`{"apiVersion":"example.com/v1"}`))}, code: 400,
			rejection:  `the object provided is unrecognized (must be of type Gadget): Object 'Kind' is missing in '{"apiVersion":"example.com/v1"}' ({"apiVersion":"example.com/v1" ...)`,
			violations: []string{`kind: must be set | /kind |  | 1:1 | DECODE`}},
		{name: "kind is no string", item: Create{Version: "v1", Object: JSON([]byte(`{"kind":1}`))}, code: 400,
			rejection:  `the object provided is unrecognized (must be of type Gadget): couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind of type string ({"kind":1})`,
			violations: []string{`apiVersion: must be set | /apiVersion |  | 1:1 | DECODE`, `kind: must be a string, not an integer | /kind |  | 1:9 | DECODE`}},
		{name: "apiVersion is null", item: Create{Version: "v1", Object: JSON([]byte(`{"kind":"Gadget","apiVersion":null}`))}, code: 400,
			rejection:  `Gadget in version "" cannot be handled as a Gadget: .apiVersion accessor error: <nil> is of the type <nil>, expected string`,
			violations: []string{`apiVersion: must be a string, not null | /apiVersion |  | 1:31 | DECODE`}},
		{name: "no JSON", item: Create{Version: "v1", Object: JSON([]byte(`{"kind"`))}, code: 400,
			rejection:  `the object provided is unrecognized (must be of type Gadget): couldn't get version/kind; json parse error: unexpected end of JSON input ({"kind")`,
			violations: []string{`invalid JSON: unexpected end of JSON input |  |  | 1:8 | DECODE`}},
		{name: "no JSON object", item: Create{Object: JSON([]byte(`[1]`))}, code: 400,
			rejection:  `the object provided is unrecognized (must be of type Gadget): couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" } (5b315d)`,
			violations: []string{`must be an object, not a list |  |  | 1:1 | DECODE`}},
		{name: "no YAML", item: Create{Version: "v1", Object: YAML([]byte("a: [b"))}, code: 400,
			rejection:  `the object provided is unrecognized (must be of type Gadget): yaml: line 1: did not find expected ',' or ']' (613a205b62)`,
			violations: []string{`invalid YAML: did not find expected ',' or ']' |  |  | 1:1 | DECODE`}},
		{name: "metadata of the wrong type", item: Create{Object: JSON([]byte(`{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"labels":{"a":1}}}`))}, code: 400,
			rejection:  `Gadget in version "v1" cannot be handled as a Gadget: json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string`,
			violations: []string{`metadata.labels[a]: must be a string, not an integer | /metadata/labels/a |  | 1:74 | DECODE`}},
		{name: "another namespace than the request's", item: Create{Namespace: "other", Object: gadget("")}, code: 400,
			rejection:  "the namespace of the provided object does not match the namespace sent on the request",
			violations: []string{`metadata.namespace: does not match the namespace of the request, "other" | /metadata/namespace |  | 1:83 | REQUEST`}},
		{name: "another name than the request's", item: Create{Name: "other", Object: gadget("")}, code: 400,
			rejection:  "the name of the object (g) does not match the name on the URL (other)",
			violations: []string{`metadata.name: does not match the name of the request, "other" | /metadata/name |  | 1:67 | REQUEST`}},
		{name: "the request's namespace", item: Create{Namespace: "d", Object: JSON([]byte(`{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"g"}}`))}},
		{name: "no namespace", item: Create{Object: JSON([]byte(`{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"g"}}`))}, code: 422,
			rejection:  `Gadget.example.com "g" is invalid: metadata.namespace: Required value`,
			violations: []string{"metadata.namespace: Required value | /metadata/namespace |  | 1:59 | METADATA"}},
		{name: "completed", item: Create{Object: JSON([]byte(`{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"generateName":"g-"}}`))}, options: ValidateOptions{CompleteMetadata: true}},
		{name: "duplicate owners", item: Create{Object: JSON([]byte(`{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"g","namespace":"d","ownerReferences":[
			{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u","controller":true},{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u","controller":true}]}}`))},
			warnings: []string{".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: u"}},
		{name: "managed fields, which are written anew", item: Create{Object: JSON([]byte(`{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"g","namespace":"d","managedFields":[{"operation":"Other","fieldsType":"X"}]}}`))}},
		{name: "managed fields as given", item: Create{Object: JSON([]byte(`{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"g","namespace":"d","managedFields":[{"operation":"Other"}]}}`))}, options: ValidateOptions{AsGiven: true},
			code: 422, rejection: "*", violations: []string{`metadata.managedFields[0].operation: Unsupported value: "Other": supported values: "Apply", "Update" | /metadata/managedFields/0/operation |  | 1:117 | METADATA`}},
		{name: "a field whose name is no header", item: Create{Object: gadget(`,"spec":{"a\u0000":1,"b":2}`)}, warnings: []string{`unknown field "spec.b"`}},
		{name: "finalizers", item: Create{Object: JSON([]byte(`{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"g","namespace":"d","finalizers":["x"]}}`))},
			warnings: []string{`metadata.finalizers: "x": prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers`}},
		{name: "deprecated", item: Create{Object: JSON([]byte(`{"apiVersion":"example.com/v1alpha1","kind":"Gadget","metadata":{"name":"g","namespace":"d"}}`))}, warnings: []string{deprecated}},
		{name: "as given", item: Create{Object: gadget(`,"spec":{"unknown":1,"note":null,"color":null},"status":{"size":"x"}`)}, options: ValidateOptions{AsGiven: true}, code: 422, rejection: "*",
			violations: []string{
				`spec.color: Invalid value: "null": spec.color in body must be of type string: "null" | /spec/color | /properties/spec/properties/color/type | 1:128 | SCHEMA`,
				`spec.color: Unsupported value: null: supported values: "red", "blue" | /spec/color | /properties/spec/properties/color/enum | 1:128 | SCHEMA`,
				`status.size: Invalid value: "string": status.size in body must be of type integer: "string" | /status/size | /properties/status/properties/size/type | 1:151 | SCHEMA`,
				`.status.size: Invalid value: 0: .status.size accessor error: x is of the type string, expected int64 | /status/size |  | 1:151 | SCALE`,
			}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v, err := d.Validate(context.Background(), tt.item, tt.options)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range v.Violations {
				got = append(got, strings.Join([]string{f.Error(), f.Pointer, f.SchemaPointer, place(f.Position), string(f.Step)}, " | "))
			}
			if !slices.Equal(got, tt.violations) {
				t.Errorf("violations\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(tt.violations, "\n\t"))
			}
			if !slices.Equal(textsOf(v.Warnings), tt.warnings) {
				t.Errorf("warnings %q, want %q", textsOf(v.Warnings), tt.warnings)
			}
			switch {
			case v.Allowed != (tt.rejection == "") || v.Allowed != (v.Rejection == nil):
				t.Errorf("allowed %v, rejection %+v", v.Allowed, v.Rejection)
			case v.Rejection != nil && (v.Rejection.Code != tt.code || tt.rejection != "*" && v.Rejection.Message != tt.rejection):
				t.Errorf("rejection %+v\nwant %d %s", *v.Rejection, tt.code, tt.rejection)
			}
		})
	}
}

// TestVerdictChanges: a verdict reports what was pruned and filled in, whichever way it came about; a status that a
// Fields that create drops cause a warning where upstream warns, and their defaults do not.
func TestVerdictChanges(t *testing.T) {
	const crd = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"gadgets.example.com"},"spec":{
"group":"example.com","scope":"Namespaced","names":{"plural":"gadgets","kind":"Gadget"},"versions":[{"name":"v1","served":true,"storage":true,
"subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object","properties":{
"spec":{"type":"object","properties":{"size":{"type":"integer","default":3,"maximum":9},"parts":{"type":"array","items":{"type":"object","properties":{"a":{"type":"string","default":"x"}}}}}},
"status":{"type":"object","properties":{"phase":{"type":"string","default":"New"}}}}}}}]}}`
	d := mustCompile(t, crd)
	tell := func(list []FieldChange) string {
		texts := make([]string, len(list))
		for i, c := range list {
			texts[i] = c.Path + " " + c.Pointer + " " + string(c.Value)
		}
		return strings.Join(texts, "; ")
	}
	for _, tt := range []struct{ name, spec, metadata, pruned, defaulted string }{
		{"accepted", `{"parts":[{},{"b":{"c":1}}]}`, ``,
			`spec.parts[1].b /spec/parts/1/b {"c":1}; status.extra /status/extra 1`,
			`spec.parts[0].a /spec/parts/0/a "x"; spec.parts[1].a /spec/parts/1/a "x"; spec.size /spec/size 3`},
		{"rejected", `{"size":10,"typo":2}`, ``, `spec.typo /spec/typo 2; status.extra /status/extra 1`, ``},
		{"unknown metadata", `{"size":1}`, `,"colour":"red"`, `metadata.colour /metadata/colour "red"; status.extra /status/extra 1`, ``},
		{"undecodable metadata", `{"typo":1}`, `,"labels":{"a":1}`, ``, ``},
	} {
		object := `{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"g","namespace":"d"` + tt.metadata + `},"spec":` + tt.spec + `,"status":{"extra":1}}`
		for _, fieldValidation := range []FieldValidation{FieldValidationWarn, FieldValidationIgnore} {
			v, err := d.Validate(context.Background(), Create{Object: JSON([]byte(object))}, ValidateOptions{FieldValidation: fieldValidation})
			if err != nil {
				t.Fatal(err)
			}
			if got := tell(v.Pruned); got != tt.pruned {
				t.Errorf("%s: pruned %s, want %s", tt.name, got, tt.pruned)
			}
			if got := tell(v.Defaulted); got != tt.defaulted {
				t.Errorf("%s: defaulted %s, want %s", tt.name, got, tt.defaulted)
			}
			alone, err := d.Validate(context.Background(), Create{Object: JSON([]byte(object))}, ValidateOptions{FieldValidation: fieldValidation, Brief: true})
			if err != nil {
				t.Fatal(err)
			}
			if len(alone.Pruned)+len(alone.Defaulted) > 0 || alone.Allowed != v.Allowed || !slices.Equal(textsOf(alone.Warnings), textsOf(v.Warnings)) {
				t.Errorf("%s: the verdict alone is %+v, want that of %+v without changes", tt.name, alone, v)
			}
		}
	}
}

func TestTransforms(t *testing.T) {
	d := rich(t)
	in := `,"spec":{"unknown":{"a":1},"size":null,"color":null,"note":null,"template":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","odd":true}}},"status":{"x":1}`
	tests := []struct {
		name              string
		do                func(context.Context, Document, TransformOptions) (*Transformed, error)
		object            Document
		o                 TransformOptions
		want              string
		unchanged         bool
		pruned, defaulted []string
	}{
		{name: "prune", do: d.Prune, object: gadget(in),
			want:   `{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"g","namespace":"d"},"spec":{"size":null,"color":null,"note":null,"template":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}}},"status":{}}`,
			pruned: []string{`spec.unknown /spec/unknown {"a":1}`, `status.x /status/x 1`, `spec.template.metadata.odd /spec/template/metadata/odd true`}},
		{name: "prune metadata", do: d.Prune, object: JSON([]byte(`{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"g","labels":{},"a.b":[1]}}`)),
			want:   `{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"g"}}`,
			pruned: []string{`metadata.a.b /metadata/a.b [1]`}},
		{name: "default", do: d.Default, object: gadget(`,"spec":{"unknown":1,"size":null,"color":null,"note":null}`),
			want:      `{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"g","namespace":"d"},"spec":{"unknown":1,"size":3,"note":null}}`,
			defaulted: []string{`spec.size /spec/size 3`}},
		{name: "default, nothing to do", do: d.Default, object: gadget(`,"spec":{"size":9007199254740993}`), unchanged: true,
			want: `{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"g","namespace":"d"},"spec":{"size":9007199254740993}}`},
		{name: "default, a float that is printed otherwise", do: d.Default, object: gadget(`,"spec":{"size":1.0}`),
			want: `{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"g","namespace":"d"},"spec":{"size":1}}`},
		{name: "changed view", do: d.Default, object: gadget(``), o: TransformOptions{View: ViewChanged}, unchanged: true},
		{name: "verdict view", do: d.Default, object: gadget(`,"spec":{}`), o: TransformOptions{View: ViewNone}, defaulted: []string{`spec.size /spec/size 3`}},
		{name: "read", do: readAt(d, ""), object: JSON([]byte(`{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"g","labels":{"a":1},"finalizers":["f"]},"spec":{"x":1}}`)),
			want:   `{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"g","finalizers":["f"],"generation":1},"spec":{"size":3}}`,
			pruned: []string{`spec.x /spec/x 1`}, defaulted: []string{`spec.size /spec/size 3`}},
		{name: "read at another version", do: readAt(d, "v1alpha1"), object: gadget(`,"spec":{"color":"red"}`),
			want:   `{"apiVersion":"example.com/v1alpha1","kind":"Gadget","metadata":{"name":"g","namespace":"d","generation":1},"spec":{"size":3}}`,
			pruned: []string{`spec.color /spec/color "red"`}, defaulted: []string{`spec.size /spec/size 3`}},
		{name: "convert", do: convertTo(d, "v1alpha1"), object: gadget(`,"spec":{"color":"red"},"status":{}`),
			want:   `{"apiVersion":"example.com/v1alpha1","kind":"Gadget","metadata":{"name":"g","namespace":"d"},"spec":{}}`,
			pruned: []string{`spec.color /spec/color "red"`, `status /status {}`}},
		{name: "convert from YAML", do: convertTo(d, "v1"), object: YAML([]byte("apiVersion: example.com/v1alpha1\nkind: Gadget\nmetadata: {name: g}\nspec: {size: 017}\n")),
			want: `{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"g"},"spec":{"size":15}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.do(context.Background(), tt.object, tt.o)
			if err != nil {
				t.Fatal(err)
			}
			if string(got.Object) != tt.want {
				t.Errorf("object %s\nwant   %s", got.Object, tt.want)
			}
			if got.Changed == tt.unchanged {
				t.Errorf("changed %v", got.Changed)
			}
			sameChanges(t, "pruned", got.Pruned, tt.pruned)
			sameChanges(t, "defaulted", got.Defaulted, tt.defaulted)
		})
	}
}

// readAt returns Read with a target version as a call like Prune.
func readAt(d *Definition, target string) func(context.Context, Document, TransformOptions) (*Transformed, error) {
	return func(ctx context.Context, object Document, o TransformOptions) (*Transformed, error) {
		return d.Read(ctx, object, ReadOptions{Version: o.Version, View: o.View, TargetVersion: target})
	}
}

// convertTo returns Convert to a version as a call like Prune.
func convertTo(d *Definition, to string) func(context.Context, Document, TransformOptions) (*Transformed, error) {
	return func(ctx context.Context, object Document, o TransformOptions) (*Transformed, error) {
		return d.Convert(ctx, object, to, o)
	}
}

func sameChanges(t *testing.T, what string, got []FieldChange, want []string) {
	t.Helper()
	var texts []string
	for _, c := range got {
		texts = append(texts, c.Path+" "+c.Pointer+" "+string(c.Value))
	}
	if !slices.Equal(texts, want) {
		t.Errorf("%s %q, want %q", what, texts, want)
	}
}

func place(p *Position) string {
	if p == nil {
		return "-"
	}
	return fmt.Sprintf("%d:%d", p.Line, p.Column)
}

func TestErrors(t *testing.T) {
	d := rich(t)
	background := context.Background()
	cancelled, cancel := context.WithCancel(background)
	cancel()
	late, stop := context.WithDeadline(background, time.Unix(0, 0))
	defer stop()
	tests := []struct {
		name string
		ctx  context.Context
		item Write
		do   func(context.Context, Document, TransformOptions) (*Transformed, error)
		want Reason
	}{
		{name: "no object", want: ReasonInvalidArgument},
		{name: "two texts", item: Create{Object: Document{JSON: []byte("{}"), YAML: []byte("{}")}}, want: ReasonInvalidArgument},
		{name: "scale of nothing", item: Update{Object: gadget(""), Subresource: "scale"}, want: ReasonInvalidArgument},
		{name: "status without an old object", item: Update{Object: gadget(""), Subresource: "status"}, want: ReasonInvalidArgument},
		{name: "two texts of the old object", item: Update{Object: gadget(""), Old: Document{JSON: []byte("{}"), YAML: []byte("{}")}}, want: ReasonInvalidArgument},
		{name: "an old object of another kind", item: Update{Object: gadget(""), Old: JSON([]byte(`{"apiVersion":"v1","kind":"Pod","metadata":{}}`))}, want: ReasonInvalidArgument},
		{name: "an old object that cannot be read", item: Update{Object: gadget(""), Old: JSON([]byte("{"))}, want: ReasonObjectRejected},
		{name: "an old object of an unknown version", item: Update{Object: gadget(""), Old: JSON([]byte(`{"apiVersion":"example.com/v9","kind":"Gadget","metadata":{}}`))}, want: ReasonVersionNotFound},
		{name: "no such subresource", item: Update{Object: gadget(""), Old: gadget(""), Subresource: "log"}, want: ReasonInvalidArgument},
		{name: "no such version", item: Create{Object: gadget(""), Version: "v9"}, want: ReasonVersionNotFound},
		{name: "not served", item: Create{Object: gadget(""), Version: "v0"}, want: ReasonVersionNotServed},
		{name: "another group, no version", item: Create{Object: JSON([]byte(`{"apiVersion":"v1","kind":"Pod"}`))}, want: ReasonVersionNotFound},
		{name: "too large", item: Create{Version: "v1", Object: JSON(make([]byte, 4<<20))}, want: ReasonLimitExceeded},
		{name: "cancelled", ctx: cancelled, item: Create{Object: gadget("")}, want: ReasonItemDeadline},
		{name: "late", ctx: late, item: Create{Object: gadget("")}, want: ReasonItemDeadline},
		{name: "prune what cannot be read", do: d.Prune, item: Create{Object: JSON([]byte("{"))}, want: ReasonObjectRejected},
		{name: "prune another version", do: d.Prune, item: Create{Version: "v1alpha1", Object: gadget("")}, want: ReasonObjectRejected},
		{name: "default an unknown version", do: d.Default, item: Create{Object: JSON([]byte(`{"apiVersion":"example.com/v9","kind":"Gadget"}`))}, want: ReasonVersionNotFound},
		{name: "convert to nothing", do: convertTo(d, ""), item: Create{Object: gadget("")}, want: ReasonInvalidArgument},
		{name: "convert to an unknown version", do: convertTo(d, "v9"), item: Create{Object: gadget("")}, want: ReasonVersionNotFound},
		{name: "convert broken metadata", do: convertTo(d, "v1alpha1"), item: Create{Object: JSON([]byte(`{"apiVersion":"example.com/v1","kind":"Gadget","metadata":[]}`))}, want: ReasonObjectRejected},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx := tt.ctx
			if ctx == nil {
				ctx = background
			}
			var err error
			if tt.do != nil {
				create, _ := tt.item.(Create)
				_, err = tt.do(ctx, create.Object, TransformOptions{Version: create.Version})
			} else {
				_, err = d.Validate(ctx, tt.item, ValidateOptions{})
			}
			var e *Error
			if !errors.As(err, &e) || e.Reason != tt.want || e.Message == "" {
				t.Errorf("error %v, want %s", err, tt.want)
			}
			if e != nil && e.Reason == ReasonObjectRejected && e.Rejection == nil {
				t.Error("no rejection")
			}
		})
	}
}
