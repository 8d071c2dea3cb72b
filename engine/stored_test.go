package engine

import (
	"context"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// storedManifest returns a CRD as an API server stores it.
func storedManifest(metadata, spec, status string) Document {
	return YAML([]byte(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition,
  metadata: {name: widgets.example.com` + metadata + `},
  spec: {group: example.com, scope: Namespaced, names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}, ` + spec + `},
  status: {` + status + `}}`))
}

// TestCompileAsStored: a CRD that an API server would reject today still compiles, and its objects get the answers that
// an API server gives for such a stored CRD.
func TestCompileAsStored(t *testing.T) {
	const one = `versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: `
	const end = `}}}}]`
	for _, c := range []struct {
		name, metadata, spec, status, object string
		rejected                             string // a part of the message, "" if the object is allowed
		kept                                 string // a part of the stored object
	}{
		{name: "preserves unknown fields", spec: `preserveUnknownFields: true, ` + one + `{type: object, properties: {size: {type: integer}}}` + end,
			object: `"spec":{"size":1,"hue":2}`, kept: `"hue":2`},
		{name: "validates a schema that is not structural", spec: `preserveUnknownFields: true, ` + one + `{properties: {size: {maximum: 3}}}` + end,
			object: `"spec":{"size":4}`, rejected: "should be less than or equal to 3"},
		{name: "has no schema", spec: `preserveUnknownFields: true, versions: [{name: v1, served: true, storage: true}]`,
			object: `"spec":{"a":1}`, kept: `"a":1`},
		{name: "has a rule that does not compile", spec: one + `{type: object, x-kubernetes-validations: [{rule: "self.nope"}]}` + end,
			object: `"spec":{}`, rejected: "nope"},
		{name: "has a pattern that does not compile", spec: one + `{type: object, properties: {a: {type: string, pattern: "("}}}` + end,
			object: `"spec":{"a":"b"}`, rejected: "spec.a"},
		{name: "is being deleted", metadata: `, deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [customresourcecleanup.apiextensions.k8s.io]`,
			spec: one + `{type: object}` + end, object: `"spec":{}`, rejected: "custom resource definition is terminating"},
		{name: "is terminating", status: `conditions: [{type: Terminating, status: "True"}]`,
			spec: one + `{type: object}` + end, object: `"spec":{}`, rejected: "custom resource definition is terminating"},
	} {
		d, crd, err := compileAsStored(context.Background(), storedManifest(c.metadata, c.spec, c.status), Options{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if crd.Name != d.Name() || d.Revision() == "" {
			t.Errorf("%s: the CRD is %q, and the definition %q", c.name, crd.Name, d.Name())
		}
		object := `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","namespace":"n"},` + c.object + `}`
		v, err := d.Admit(context.Background(), Create{Object: JSON([]byte(object))}, AdmitOptions{})
		switch {
		case err != nil:
			t.Errorf("%s: %v", c.name, err)
		case v.Allowed != (c.rejected == ""):
			t.Errorf("%s: allowed is %v: %+v", c.name, v.Allowed, v.Rejection)
		case !v.Allowed && !strings.Contains(v.Rejection.Message, c.rejected):
			t.Errorf("%s: the rejection is %q, without %q", c.name, v.Rejection.Message, c.rejected)
		case v.Allowed && !strings.Contains(string(v.Object), c.kept):
			t.Errorf("%s: the object is %s, without %s", c.name, v.Object, c.kept)
		}
	}
}

// TestCompileAsStoredRejects: what no API server stores is an error.
func TestCompileAsStoredRejects(t *testing.T) {
	const v1 = `{name: v1, served: true, storage: true}`
	for _, c := range []struct{ name, from, to, want string }{
		{"a name with a slash", "widgets.example.com", "wid/gets.example.com", "metadata.name"},
		{"a name of another CRD", "widgets.example.com", "other.example.com", "metadata.name is"},
		{"no group", "group: example.com", "group: ''", "spec.group"},
		{"no kind", "kind: Widget,", "kind: '',", "must be set"},
		{"no version", v1, "", "0 of 0 entries"},
		{"no storage version", "storage: true", "storage: false", "0 of 1 entries"},
		{"two storage versions", v1, v1 + `, {name: v2, served: true, storage: true}`, "2 of 2 entries"},
		{"a version twice", v1, v1 + `, {name: v1, served: true, storage: false}`, "spec.versions[1].name"},
		{"another kind", "kind: CustomResourceDefinition", "kind: Pod", "is not a CRD"},
		{"a wrong type", "scope: Namespaced", "scope: 1", "cannot be handled"},
	} {
		text := string(storedManifest("", `preserveUnknownFields: true, versions: [`+v1+`]`, "").YAML)
		if !strings.Contains(text, c.from) {
			t.Fatalf("%s: the manifest has no %q", c.name, c.from)
		}
		d, _, err := compileAsStored(context.Background(), YAML([]byte(strings.Replace(text, c.from, c.to, 1))), Options{})
		if d != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, without %q", c.name, err, c.want)
		}
	}
}

// TestCompileTerminatingUpdate: an update of a terminating CRD does not end its deletion.
func TestCompileTerminatingUpdate(t *testing.T) {
	d, crd, err := compileAsStored(context.Background(), storedManifest(`, deletionTimestamp: "2026-01-01T00:00:00Z"`,
		`versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]`, ""), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if crd.DeletionTimestamp.IsZero() || crd.Status.StoredVersions[0] != "v1" {
		t.Errorf("the CRD is %+v", crd)
	}
	o := Options{Existing: func(string) *Existing {
		return &Existing{Manifest: d.Manifest(), Generation: 1, Status: apiextensionsv1.CustomResourceDefinitionStatus{StoredVersions: []string{"v1"}}, Terminating: true}
	}}
	after, report, err := Compile(context.Background(), JSON(d.Manifest()), o)
	if err != nil || after == nil {
		t.Fatalf("%v, %+v", err, report)
	}
	if after.Revision() != d.Revision() {
		t.Error("the update ended the deletion")
	}
}

// TestStoredDefaults checks that defaults have the same text whether a CRD is compiled from its manifest or from storage.
func TestStoredDefaults(t *testing.T) {
	ctx := context.Background()
	for _, value := range []string{`{"b":1,"a":{"d":[{"z":1,"y":2}],"c":"<"}}`, `"<&>"`, `1.0`, `[{"b":1,"a":2}]`} {
		manifest := storedManifest("", `versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {
			any: {x-kubernetes-preserve-unknown-fields: true, default: `+value+`}}}}}]`, "")
		fresh, report, err := Compile(ctx, manifest, Options{})
		if err != nil || fresh == nil {
			t.Fatalf("%s: %v, %+v", value, err, report)
		}
		stored, err := compileStored(ctx, fresh.Manifest(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, d := range []*Definition{fresh, stored} {
			object := JSON([]byte(`{"apiVersion":"example.com/v1","kind":"Widget"}`))
			out, err := d.Default(ctx, object, TransformOptions{})
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, string(out.Object))
		}
		if texts[0] != texts[1] || !strings.Contains(texts[0], `"any":`) {
			t.Errorf("of the manifest %s\nfrom storage    %s", texts[0], texts[1])
		}
	}
}
