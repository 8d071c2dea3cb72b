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

// gadget is an object with the metadata given, and more members.
func gadget(metadata, rest string) string {
	return `{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{` + metadata + `}` + rest + `}`
}

const plain = `"name":"g","namespace":"n"`

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
		{"too large", t.Context(), d.Write, func() (r Request) { r.Body = []byte(many); r.Limits.MaxBytes = 100; return r }(), LimitExceeded,
			`object: document size of 3`},
		{"too much by default", t.Context(), d.Default, func() (r Request) { r.Body = []byte(gadget(plain, ``)); r.Limits.MaxDefaultBytes = 5; return r }(), LimitExceeded,
			`object: expansion by defaults of at least `},
		{"too much by default, read", t.Context(), d.Read,
			func() (r Request) { r.Body = []byte(gadget(plain, ``)); r.Limits.MaxDefaultBytes = 5; return r }(), LimitExceeded, `object: expansion by defaults of at least `},
		{"too much by default, create", t.Context(), d.Write, func() (r Request) { r.Body = []byte(gadget(plain, ``)); r.Limits.MaxDefaultBytes = 5; return r }(), LimitExceeded,
			`object: expansion by defaults of at least `},
		{"cancelled", ended, d.Write, Request{Body: []byte(many)}, Deadline, `the call was cancelled before the object was evaluated`},
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

// TestConvert checks conversions by a webhook. The cases of package writecase have those without one.
func TestConvert(t *testing.T) {
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
		name  string
		by    Converter
		want  string
		fault Code
	}{
		{"the reply is coerced and pruned, not defaulted", reply(v2(plain+`,"uid":"u","labels":{"a":"b"},"finalizers":["f"]`, `"note":"c","y":1`)),
			`{"apiVersion":"example.com/v2","kind":"Gadget","metadata":{"labels":{"a":"b"},"name":"g","namespace":"n","uid":"u"},"spec":{"note":"c"}}`, ""},
		{"another uid", reply(v2(plain, ``)), "", ObjectRejected},
		{"invalid JSON", reply(`{`), "", ObjectRejected},
		{"no converter", nil, "", ConversionUnavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			webhook.Converter = c.by
			got, err := webhook.Convert(context.Background(), &Request{Body: []byte(stored), Target: "v2", WantObject: true})
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
		if got := strictWarnings(in); !slices.Equal(got, want) {
			t.Errorf("%q: %q", in, got)
		}
	}
}
