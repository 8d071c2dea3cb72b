package tests

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/conformance/corpus"
	"github.com/crdeval/crdeval/engine/diff"
	"github.com/crdeval/crdeval/engine/testenv"
)

// TestCorpusDiffIsCompatible compares every CRD of the corpus and of Istio with the same CRD with other descriptions and
// more optional fields. Both directions of the descriptions alone, and the additional fields, are compatible. Istio's
// CRDs have choices between many fields.
func TestCorpusDiffIsCompatible(t *testing.T) {
	c, err := corpus.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	const istio = "istio.io/istio"
	docs, err := corpus.Documents(istio, "v0.0.0-20260827124520-eed52ebb66ad", "manifests/charts/base/files/crd-all.gen.yaml")
	if err != nil || len(docs) < 10 {
		t.Fatal(err, len(docs))
	}
	compared, added, all := 0, 0, slices.Clone(c.CRDs)
	for _, doc := range docs {
		all = append(all, corpus.CRD{Module: istio, Path: "crd-all.gen.yaml", Doc: doc})
	}
	for i, crd := range all {
		if crd.Module != istio && !testenv.Sampled(i) {
			continue
		}
		compared++
		described, fields := edited(t, crd.Doc, false)
		if fields > 0 {
			t.Fatalf("%s: %d fields", crd.Path, fields)
		}
		extended, fields := edited(t, crd.Doc, true)
		added += fields
		for _, pair := range [][2][]byte{{crd.Doc, described}, {described, crd.Doc}, {crd.Doc, extended}} {
			result, err := diff.Compare(t.Context(), engine.JSON(pair[0]), engine.JSON(pair[1]), engine.Options{})
			if err != nil {
				t.Fatalf("%s of %s: %v", crd.Path, crd.Module, err)
			}
			for _, change := range result.Changes {
				if change.Class != diff.Compatible {
					t.Errorf("%s of %s: %s %s: %s: %s",
						crd.Path, crd.Module, change.Class, change.Kind, change.SchemaPointer, change.Message)
				}
			}
		}
	}
	t.Logf("%d CRDs, %d added fields", compared, added)
	if compared < testenv.Portion(200) || added < 4*compared {
		t.Errorf("%d CRDs, %d added fields", compared, added)
	}
}

// edited returns a CRD with another description of each node of its schemas. With fields, it also adds an optional field
// to each object that prunes others, and returns their number.
func edited(t *testing.T, manifest []byte, fields bool) (edited []byte, added int) {
	t.Helper()
	var crd struct {
		APIVersion string         `json:"apiVersion"`
		Kind       string         `json:"kind"`
		Metadata   map[string]any `json:"metadata"`
		Spec       map[string]any `json:"spec"`
	}
	if err := json.Unmarshal(manifest, &crd); err != nil {
		t.Fatal(err)
	}
	var edit func(s map[string]any, isRoot bool)
	edit = func(s map[string]any, isRoot bool) {
		s["description"] = "other"
		properties, _ := s["properties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			edit(properties[name].(map[string]any), false)
		}
		for _, keyword := range []string{"items", "additionalProperties"} {
			if below, ok := s[keyword].(map[string]any); ok {
				edit(below, false)
			}
		}
		if fields && !isRoot && len(properties) > 0 && s["x-kubernetes-preserve-unknown-fields"] == nil {
			properties["addedField"] = map[string]any{"type": "string"}
			added++
		}
	}
	schemaOf := func(v map[string]any) map[string]any {
		validation, _ := v["schema"].(map[string]any)
		schema, _ := validation["openAPIV3Schema"].(map[string]any)
		return schema
	}
	versions, _ := crd.Spec["versions"].([]any)
	for _, v := range versions {
		if s := schemaOf(v.(map[string]any)); s != nil {
			edit(s, true)
		}
	}
	text, err := json.Marshal(crd)
	if err != nil {
		t.Fatal(err)
	}
	return text, added
}
