package openapi

import (
	"encoding/json"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// written returns the JSON of a schema in a form.
func written(t *testing.T, f Form, schema string) string {
	t.Helper()
	s := &Props{}
	if err := json.Unmarshal([]byte(schema), s); err != nil {
		t.Fatal(err)
	}
	w := &writer{form: f, d: tree.Acquire()}
	defer w.d.Release()
	w.node(s, nil)
	return string(w.out)
}

// TestForms checks both forms of some schemas. engine/conformance compares all of them with upstream.
func TestForms(t *testing.T) {
	const resource = `"apiVersion":{"description":"` + embeddedVersionText + `","type":"string"},"kind":{"description":"` + embeddedKindText + `","type":"string"}`
	for _, tc := range []struct{ name, schema, v3, v2 string }{
		{"defaults go", `{"type":"integer","default":1.0,"minimum":1.50}`,
			`{"type":"integer","default":1,"minimum":1.5}`, `{"type":"integer","minimum":1.5}`},
		{"logical operators are omitted", `{"type":"string","not":{"pattern":"<"},"oneOf":[{"maxLength":1}],"enum":["b","a"]}`,
			`{"type":"string","enum":["b","a"],"oneOf":[{"maxLength":1}],"not":{"pattern":"\u003c"}}`, `{"type":"string","enum":["b","a"]}`},
		{"what may be null has no type", `{"type":"object","nullable":true,"properties":{"a":{"type":"string"}}}`,
			`{"type":"object","nullable":true,"properties":{"a":{"type":"string"}}}`, `{}`},
		{"nor is it required", `{"type":"object","required":["a","b"],"properties":{"a":{"type":"string","nullable":true},"b":{"type":"string"}}}`,
			`{"type":"object","required":["a","b"],"properties":{"a":{"type":"string","nullable":true},"b":{"type":"string"}}}`,
			`{"type":"object","required":["b"],"properties":{"a":{},"b":{"type":"string"}}}`},
		{"once values may be null, nothing is", `{"type":"object","required":["a"],"additionalProperties":{"type":"string","nullable":true}}`,
			`{"type":"object","required":["a"],"additionalProperties":{"type":"string","nullable":true}}`, `{"type":"object","additionalProperties":{}}`},
		{"unknown fields hide the known ones", `{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"a":{"type":"string"}}}`,
			`{"type":"object","properties":{"a":{"type":"string"}},"x-kubernetes-preserve-unknown-fields":true}`, `{"x-kubernetes-preserve-unknown-fields":true}`},
		{"arrays without items have no type", `{"type":"array","x-kubernetes-preserve-unknown-fields":true,"items":{"type":"string"}}`,
			`{"type":"array","items":{"type":"string"},"x-kubernetes-preserve-unknown-fields":true}`, `{"x-kubernetes-preserve-unknown-fields":true}`},
		{"int-or-string is spelled out", `{"x-kubernetes-int-or-string":true}`,
			`{"anyOf":[{"type":"integer"},{"type":"string"}],"x-kubernetes-int-or-string":true}`, `{"x-kubernetes-int-or-string":true}`},
		{"as a clause where anyOf is taken", `{"x-kubernetes-int-or-string":true,"anyOf":[{"pattern":"a"}],"allOf":[{"minimum":1}]}`,
			`{"allOf":[{"anyOf":[{"type":"integer"},{"type":"string"}]},{"minimum":1}],"anyOf":[{"pattern":"a"}],"x-kubernetes-int-or-string":true}`,
			`{"x-kubernetes-int-or-string":true}`},
		{"once", `{"x-kubernetes-int-or-string":true,"anyOf":[{"type":"integer"},{"type":"string"}]}`,
			`{"anyOf":[{"type":"integer"},{"type":"string"}],"x-kubernetes-int-or-string":true}`, `{"x-kubernetes-int-or-string":true}`},
		{"embedded resources", `{"type":"object","x-kubernetes-embedded-resource":true,"required":["kind"],"properties":{"kind":{"type":"string","enum":["A"]}}}`,
			`{"type":"object","required":["kind","apiVersion"],"properties":{` + resource + `,"metadata":{"description":"` + metadataText + `","allOf":[{"$ref":"#/components/schemas/` + objectMeta + `"}]}},"x-kubernetes-embedded-resource":true}`,
			`{"type":"object","required":["kind","apiVersion"],"properties":{` + resource + `,"metadata":{"description":"` + metadataText + `","$ref":"#/definitions/` + objectMeta + `"}},"x-kubernetes-embedded-resource":true}`},
		{"embedded resources with unknown fields", `{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}`,
			`{"type":"object","required":["kind","apiVersion"],"properties":{` + resource + `,"metadata":{"description":"` + metadataText + `","allOf":[{"$ref":"#/components/schemas/` + objectMeta + `"}]}},"x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}`,
			`{"x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}`},
		{"what is empty is left out", `{"type":"string","example":"","enum":[],"required":[],"externalDocs":{},"title":"","default":null}`,
			`{"type":"string","externalDocs":{}}`, `{"type":"string","externalDocs":{}}`},
		{"a bound of -0 keeps its sign", `{"type":"number","maximum":-0.0}`, `{"type":"number","maximum":-0}`, `{"type":"number","maximum":-0}`},
		{"examples that say something stay", `{"type":"string","example":false}`, `{"type":"string","example":false}`, `{"type":"string","example":false}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := written(t, V3Form, tc.schema); got != tc.v3 {
				t.Errorf("v3\n got %s\nwant %s", got, tc.v3)
			}
			if got := written(t, V2Form, tc.schema); got != tc.v2 {
				t.Errorf("v2\n got %s\nwant %s", got, tc.v2)
			}
		})
	}
}

func TestKindWithoutSchema(t *testing.T) {
	full := &Props{Type: "object", Properties: map[string]Props{"a": {Type: "string"}}}
	const bare = `{"type":"object","x-kubernetes-group-version-kind":[{"group":"b.a","kind":"K","version":"v1"}],"x-kubernetes-selectable-fields":[{"fieldPath":"spec.x"}]}`
	for _, tc := range []struct {
		name string
		form Form
		r    Resource
		bare bool
	}{
		{"no schema", V3Form, Resource{}, true},
		{"no schema", V2Form, Resource{}, true},
		{"unpruned", V3Form, Resource{Schema: full, Unpruned: true}, false},
		{"unpruned", V2Form, Resource{Schema: full, Unpruned: true}, true},
		{"pruned", V2Form, Resource{Schema: full}, false},
	} {
		tc.r.Group, tc.r.Version, tc.r.Kind, tc.r.Selectable = "b.a", "v1", "K", []string{".spec.x"}
		w := &writer{form: tc.form, d: tree.Acquire()}
		w.kind(&tc.r)
		w.d.Release()
		if got := string(w.out); (got == bare) != tc.bare || !tc.bare && !strings.Contains(got, `"a":{"type":"string"}`) {
			t.Errorf("%s, form %d: %s", tc.name, tc.form, got)
		}
	}
}

func TestDescribe(t *testing.T) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{
		{Name: "v1", Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &Props{Type: "object"}}},
		{Name: "v2", Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &Props{}}},
		{Name: "v3", Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &Props{Type: "object", Properties: map[string]Props{"a": {Type: "text"}}}}},
		{Name: "v4"},
	}
	for version, published := range map[string]bool{"v1": true, "v2": false, "v3": false, "v4": false} {
		if got := Describe(crd, version).Schema != nil; got != published {
			t.Errorf("%s: schema %v", version, got)
		}
	}
}
