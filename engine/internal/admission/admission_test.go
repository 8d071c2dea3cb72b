package admission

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/schema"
)

// gadgets is a CRD in which each step of a create has something to do.
const gadgets = `
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gadgets, kind: Gadget}
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas, labelSelectorPath: .status.selector}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            default: {}
            required: [must]
            properties:
              must: {type: integer, default: 1}
              note: {type: string}
              replicas: {x-kubernetes-preserve-unknown-fields: true}
              tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}
              template: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
          status: {type: object, properties: {replicas: {x-kubernetes-preserve-unknown-fields: true}, selector: {x-kubernetes-preserve-unknown-fields: true}}}
  - name: v2
    served: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {note: {type: string}, since: {type: integer, default: 2}}}}}}
`

// define compiles a CRD; edit may change it first.
func define(t *testing.T, edit func(*apiextensionsv1.CustomResourceDefinition)) *Definition {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict([]byte(gadgets), crd); err != nil {
		t.Fatal(err)
	}
	if edit != nil {
		edit(crd)
	}
	d := Describe(crd, nil)
	for i, v := range d.Versions {
		compiled, err := plan.Compile(schema.Of(&crd.Spec.Versions[i]), plan.Options{StatusSubresource: v.HasStatus, PreserveUnknown: d.PreserveUnknown})
		if err != nil {
			t.Fatal(err)
		}
		v.Plan = compiled
	}
	return d
}

func clusterScoped(crd *apiextensionsv1.CustomResourceDefinition) {
	crd.Spec.Scope = apiextensionsv1.ClusterScoped
}

// gadget is an object with the metadata given, and more members.
func gadget(metadata, rest string) string {
	return `{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{` + metadata + `}` + rest + `}`
}

const plain = `"name":"g","namespace":"n"`

// outcome is what a test compares: the object, or the rejection and each violation after the step that found it.
type outcome struct {
	object     string
	rejection  string
	violations []string
	warnings   []string
}

func expect(t *testing.T, got *Outcome, want outcome) {
	t.Helper()
	rejection := ""
	if got.Rejection != nil {
		rejection = got.Rejection.Reason
	}
	var violations []string
	if got.Rejection != nil && len(got.Violations) == 0 {
		t.Errorf("no violation with the rejection %+v", got.Rejection)
	}
	for _, f := range got.Violations {
		if got.Rejection.Code == 422 {
			violations = append(violations, string(f.Step)+" "+f.Error.Error())
		}
	}
	if rejection != want.rejection || !slices.Equal(violations, want.violations) {
		t.Errorf("rejected %q: %+v\nwith %q\nwant %q\nwith %q", rejection, got.Rejection, violations, want.rejection, want.violations)
	}
	if want.object != "" && string(got.Object) != want.object {
		t.Errorf("object %s\nwant   %s", got.Object, want.object)
	}
	var warnings []string
	for _, w := range got.Warnings {
		warnings = append(warnings, w.Text)
	}
	if !slices.Equal(warnings, want.warnings) {
		t.Errorf("warnings %q\nwant     %q", warnings, want.warnings)
	}
}

// TestCreate runs each case on the path that the request takes, and on the exact path.
func TestCreate(t *testing.T) {
	ordinary, cluster := define(t, nil), define(t, clusterScoped)
	tests := []struct {
		name string
		d    *Definition
		r    Request
		want outcome
	}{
		{name: "every step in its order", // metadata is coerced, unknown fields pruned, nulls dropped, defaults filled in, status dropped, generation set
			r:    Request{Body: []byte(gadget(plain+`,"labels":{},"generation":7`, `,"spec":{"must":null,"x":null,"note":"a"},"status":{"replicas":-1}`))},
			want: outcome{object: gadget(plain+`,"generation":1`, `,"spec":{"must":1,"note":"a"}`), warnings: []string{`unknown field "spec.x"`}}},
		{name: "a default is not pruned, dropped or rejected again",
			r: Request{Body: []byte(gadget(plain, ``))}, want: outcome{object: gadget(plain+`,"generation":1`, `,"spec":{"must":1}`)}},
		{name: "all violations, in the order of the steps",
			r: Request{Body: []byte(gadget(`"name":"G","namespace":"n"`, `,"spec":{"must":"m","replicas":-1,"tags":["a","a"],"template":{"kind":"Pod"}}`))},
			want: outcome{rejection: "Invalid", violations: []string{
				`METADATA metadata.name: Invalid value: "G": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
				`SCHEMA spec.must: Invalid value: "string": spec.must in body must be of type integer: "string"`,
				`SCALE .spec.replicas: Invalid value: -1: should be a non-negative integer`,
				`EMBEDDED spec.template.apiVersion: Required value`,
				`LIST spec.tags[1]: Duplicate value: "a"`,
			}}},
		{name: "of another kind: no schema, but embedded resources and lists", r: Request{Version: "v1",
			Body: []byte(`{"apiVersion":"example.com/v1","kind":"Other","metadata":{"name":"G","namespace":"n"},"spec":{"must":"m","tags":["a","a"]}}`)},
			want: outcome{rejection: "Invalid", violations: []string{`TYPE_META kind: Invalid value: "Other": must be Gadget`, `LIST spec.tags[1]: Duplicate value: "a"`}}},
		{name: "strict", r: Request{FieldValidation: Strict, Body: []byte(gadget(plain, `,"spec":{"x":1}`))}, want: outcome{rejection: "BadRequest"}},
		{name: "ignored", r: Request{FieldValidation: Ignore, Body: []byte(gadget(plain, `,"spec":{"x":1}`))}, want: outcome{object: gadget(plain+`,"generation":1`, `,"spec":{"must":1}`)}},

		{name: "as given", r: Request{AsGiven: true, Body: []byte(gadget(plain, `,"spec":{"x":1}`))},
			want: outcome{rejection: "Invalid", violations: []string{`SCHEMA spec.must: Required value`}}},
		{name: "as given: the status is validated", r: Request{AsGiven: true, Body: []byte(gadget(plain, `,"spec":{"must":1},"status":{"replicas":-1}`))},
			want: outcome{rejection: "Invalid", violations: []string{`SCALE .status.replicas: Invalid value: -1: should be a non-negative integer`}}},
		{name: "as given: nothing changes", r: Request{AsGiven: true, Body: []byte(gadget(plain+`,"generation":7`, `,"spec":{"must":1,"x":null}`))},
			want: outcome{object: gadget(plain+`,"generation":7`, `,"spec":{"must":1,"x":null}`)}},

		{name: "handler: another name", r: Request{Handler: true, Name: "h", Body: []byte(gadget(plain, ``))}, want: outcome{rejection: "BadRequest"}},
		{name: "handler: the same name", r: Request{Handler: true, Name: "g", Body: []byte(gadget(plain, ``))}, want: outcome{object: gadget(plain+`,"generation":1`, `,"spec":{"must":1}`)}},
		{name: "handler: another namespace", r: Request{Handler: true, Namespace: "m", Body: []byte(gadget(plain, ``))}, want: outcome{rejection: "BadRequest"}},
		{name: "handler: the request's namespace", r: Request{Handler: true, Namespace: "m", Body: []byte(gadget(`"name":"g"`, ``))},
			want: outcome{object: gadget(`"name":"g","namespace":"m","generation":1`, `,"spec":{"must":1}`)}},
		{name: "handler: cluster-scoped objects lose their namespace", d: cluster, r: Request{Handler: true, Body: []byte(gadget(plain, ``))},
			want: outcome{object: gadget(`"name":"g","generation":1`, `,"spec":{"must":1}`)}},
		{name: "no handler: a namespace of a cluster-scoped object is rejected", d: cluster, r: Request{Body: []byte(gadget(plain, ``))},
			want: outcome{rejection: "Invalid", violations: []string{`METADATA metadata.namespace: Forbidden: not allowed on this type`}}},
		{name: "handler: owners twice", r: Request{Handler: true, Body: []byte(gadget(plain+`,"ownerReferences":[`+owner+`,`+owner+`]`, ``))},
			want: outcome{object: gadget(plain+`,"ownerReferences":[`+owner+`],"generation":1`, `,"spec":{"must":1}`), warnings: []string{
				`.metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: u`}}},

		{name: "completed: namespace and generated name", r: Request{CompleteMetadata: true, Handler: true, Body: []byte(gadget(`"generateName":"g-"`, ``))},
			want: outcome{object: gadget(`"generateName":"g-","namespace":"default","name":"g-00000","generation":1`, `,"spec":{"must":1}`)}},
		{name: "completed: from the request", r: Request{CompleteMetadata: true, Handler: true, Namespace: "m", Name: "h", Body: []byte(gadget(``, ``))},
			want: outcome{object: gadget(`"name":"h","namespace":"m","generation":1`, `,"spec":{"must":1}`)}},
		{name: "completed: a long generateName is cut", r: Request{CompleteMetadata: true, Body: []byte(gadget(`"generateName":"`+strings.Repeat("g", 70)+`"`, ``))},
			want: outcome{object: gadget(`"generateName":"`+strings.Repeat("g", 70)+`","namespace":"default","name":"`+strings.Repeat("g", 58)+`00000","generation":1`, `,"spec":{"must":1}`)}},
		{name: "completed: invalid values are not corrected", r: Request{CompleteMetadata: true, Body: []byte(gadget(`"name":"g","namespace":"N"`, ``))},
			want: outcome{rejection: "Invalid", violations: []string{
				`METADATA metadata.namespace: Invalid value: "N": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`}}},
		{name: "completed: neither name nor generateName", r: Request{CompleteMetadata: true, Body: []byte(gadget(``, ``))},
			want: outcome{rejection: "Invalid", violations: []string{`METADATA metadata.name: Required value: name or generateName is required`}}},
		{name: "finalizers", r: Request{Body: []byte(gadget(plain+`,"finalizers":["z","example.com/a","b.c"]`, ``))},
			want: outcome{object: gadget(plain+`,"finalizers":["z","example.com/a","b.c"],"generation":1`, `,"spec":{"must":1}`), warnings: []string{
				`metadata.finalizers: "b.c": prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers`,
				`metadata.finalizers: "z": prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers`}}},
	}
	for _, tt := range tests {
		for _, exact := range []bool{false, true} {
			name := tt.name
			if exact {
				name += ", exactly"
			}
			t.Run(name, func(t *testing.T) {
				d := tt.d
				if d == nil {
					d = ordinary
				}
				r := tt.r
				r.Exact, r.WantObject = exact, true
				got, err := d.Write(context.Background(), &r)
				if err != nil {
					t.Fatal(err)
				}
				expect(t, &got, tt.want)
			})
		}
	}
}

const owner = `{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u"}`

func TestScale(t *testing.T) {
	d := define(t, func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[0].Subresources.Status = nil }) // else a create drops status
	for rest, want := range map[string][]string{
		`,"spec":{"replicas":0},"status":{"replicas":2147483647,"selector":"a=b"}`: nil,
		`,"spec":{},"status":{}`:           nil,
		`,"spec":{"replicas":2147483648}`:  {`SCALE .spec.replicas: Invalid value: 2147483648: should be less than or equal to 2147483647`},
		`,"spec":{"replicas":"1"}`:         {`SCALE .spec.replicas: Invalid value: 0: .spec.replicas accessor error: 1 is of the type string, expected int64`},
		`,"spec":{"replicas":1.5}`:         {`SCALE .spec.replicas: Invalid value: 0: .spec.replicas accessor error: 1.5 is of the type float64, expected int64`},
		`,"status":{"replicas":-2}`:        {`SCALE .status.replicas: Invalid value: -2: should be a non-negative integer`},
		`,"status":{"selector":{"a":"b"}}`: {`SCALE .status.selector: Invalid value: "": .status.selector accessor error: map[a:b] is of the type map[string]interface {}, expected string`},
	} {
		got, err := d.Write(context.Background(), &Request{Body: []byte(gadget(plain, rest))})
		if err != nil {
			t.Fatal(err)
		}
		var violations []string
		for _, f := range got.Violations {
			violations = append(violations, string(f.Step)+" "+f.Error.Error())
		}
		if got.Explained == (want == nil) || !slices.Equal(violations, want) {
			t.Errorf("%s: explained %v, %q\nwant %q", rest, got.Explained, violations, want)
		}
	}
}

func TestFaults(t *testing.T) {
	d := define(t, func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[1].Served = false })
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	many := gadget(plain, `,"spec":{"tags":["`+strings.Repeat("t", 200)+`"]}`)
	for _, c := range []struct {
		name string
		ctx  context.Context
		do   func(context.Context, *Request) (Outcome, error)
		r    Request
		code Code
		text string
	}{
		{"unknown version", t.Context(), d.Write, Request{Version: "v3", Body: []byte(many)}, VersionNotFound, `version "v3" is not a version of gadgets.example.com: it has v1, v2`},
		{"unknown version in the object", t.Context(), d.Write, Request{Body: []byte(strings.Replace(many, "example.com/v1", "example.com/v3", 1))}, VersionNotFound,
			`the object's version "v3" is not a version of gadgets.example.com: it has v1, v2`},
		{"not served", t.Context(), d.Write, Request{Version: "v2", Body: []byte(many)}, VersionNotServed, `version "v2" of gadgets.example.com is not served: served versions: v1`},
		{"too large", t.Context(), d.Write, func() (r Request) { r.Body = []byte(many); r.Limits.MaxBytes = 100; return r }(), LimitExceeded,
			`object: document size of 3`},
		{"too much by default", t.Context(), d.Default, func() (r Request) { r.Body = []byte(gadget(plain, ``)); r.Limits.MaxDefaultBytes = 5; return r }(), LimitExceeded,
			`object: expansion by defaults of at least `},
		{"too much by default, read", t.Context(), d.Read,
			func() (r Request) { r.Body = []byte(gadget(plain, ``)); r.Limits.MaxDefaultBytes = 5; return r }(), LimitExceeded, `object: expansion by defaults of at least `},
		{"too much by default, create", t.Context(), d.Write, func() (r Request) { r.Body = []byte(gadget(plain, ``)); r.Limits.MaxDefaultBytes = 5; return r }(), LimitExceeded,
			`object: expansion by defaults of at least `},
		{"cancelled", ended, d.Write, Request{Body: []byte(many)}, Deadline, `the call was cancelled before the object was evaluated`},
		{"unreadable", t.Context(), d.Prune, Request{Body: []byte(`{`)}, ObjectRejected, `unexpected end of JSON input`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := c.do(c.ctx, &c.r)
			var f *Fault
			if !errors.As(err, &f) || f.Code != c.code || !strings.HasPrefix(f.Text, c.text) {
				t.Errorf("%v", err)
			}
			if c.code == LimitExceeded && f.Limit == nil || c.code == ObjectRejected && f.Rejection == nil || c.code == Deadline && !errors.Is(err, context.Canceled) {
				t.Errorf("%+v says too little", f)
			}
		})
	}
}

// TestReadAndConvert checks that a read fills in the defaults of the object's own version, converts, and does not fill in those of the target.
func TestReadAndConvert(t *testing.T) {
	none := define(t, nil)
	webhook := define(t, func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{ConversionReviewVersions: []string{"v1"}}}
	})
	stored := gadget(plain+`,"uid":"u"`, `,"spec":{"note":"a","x":1}`)
	v2 := func(metadata, spec string) string {
		return strings.Replace(gadget(metadata, `,"spec":{`+spec+`}`), "/v1", "/v2", 1)
	}
	reply := func(text string) Converter {
		return func(_ context.Context, crd string, _ *apiextensionsv1.WebhookConversion, desired string, objects [][]byte) ([][]byte, error) {
			if crd != "gadgets.example.com" || desired != "example.com/v2" || len(objects) != 1 {
				t.Errorf("asked for %s of %s: %q", desired, crd, objects)
			}
			return [][]byte{[]byte(text)}, nil
		}
	}
	for _, c := range []struct {
		name    string
		d       *Definition
		convert bool
		by      Converter
		want    string
		fault   Code
	}{
		{"read, none", none, false, nil, v2(plain+`,"uid":"u","generation":1`, `"note":"a"`), ""},
		{"convert, none", none, true, nil, v2(plain+`,"uid":"u"`, `"note":"a"`), ""},
		{"convert, webhook: the reply is coerced and pruned, not defaulted", webhook, true, reply(v2(plain+`,"uid":"u","labels":{"a":"b"},"finalizers":["f"]`, `"note":"c","y":1`)),
			`{"apiVersion":"example.com/v2","kind":"Gadget","metadata":{"labels":{"a":"b"},"name":"g","namespace":"n","uid":"u"},"spec":{"note":"c"}}`, ""},
		{"convert, webhook: another uid", webhook, true, reply(v2(plain, ``)), "", ObjectRejected},
		{"convert, webhook: invalid JSON", webhook, true, reply(`{`), "", ObjectRejected},
		{"convert, no converter", webhook, true, nil, "", ConversionUnavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.d.Converter = c.by
			do := c.d.Read
			if c.convert {
				do = c.d.Convert
			}
			got, err := do(context.Background(), &Request{Body: []byte(stored), Target: "v2", WantObject: true})
			var f *Fault
			if c.fault != "" {
				if !errors.As(err, &f) || f.Code != c.fault {
					t.Errorf("%v, want %s", err, c.fault)
				}
				return
			}
			if err != nil || string(got.Object) != c.want {
				t.Errorf("%v\ngot  %s\nwant %s", err, got.Object, c.want)
			}
		})
	}
}

func TestStrictWarnings(t *testing.T) {
	for in, want := range map[string][]string{
		`unknown field "a"`: {`unknown field "a"`},
		"yaml: unmarshal errors:\n  line 2: key \"a\" already set in map\n  line 3: b":                   {`line 2: key "a" already set in map`, "line 3: b"},
		"error converting YAML to JSON: yaml: unmarshal errors:\n  line 2: key \"a\" already set in map": {`line 2: key "a" already set in map`},
	} {
		if got := StrictWarnings(in); !slices.Equal(got, want) {
			t.Errorf("%q: %q", in, got)
		}
	}
}
