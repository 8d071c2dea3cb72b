package load

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/engine"
)

// sample is a sample CRD with objects.
type sample struct {
	crd     map[string]any
	objects []map[string]any // a valid and an invalid one
}

// readSamples reads the crontab, database and pipeline samples.
func readSamples(t *testing.T) []sample {
	t.Helper()
	var all []sample
	for _, name := range []string{"crontab", "database", "pipeline"} {
		s := sample{objects: make([]map[string]any, 2)}
		read(t, filepath.Join(samplesDir, "crds", name+"s.yaml"), &s.crd)
		for i, which := range []string{"valid", "rejected"} {
			read(t, filepath.Join(samplesDir, "objects", name+"-"+which+".yaml"), &s.objects[i])
		}
		all = append(all, s)
	}
	return all
}

func read(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// groupSize is the number of CRDs in a group.
const groupSize = 40

func group(i int) string { return fmt.Sprintf("g%d.scale.example.com", i/groupSize) }
func kind(i int) string  { return fmt.Sprintf("Scale%d", i) }

// sections returns the number of sections added to a sample. Most CRDs have a few KiB, some have tens of KiB.
func sections(r *rand.Rand) int {
	switch n := r.IntN(100); {
	case n < 60:
		return 1 + r.IntN(3)
	case n < 93:
		return 4 + r.IntN(8)
	}
	return 20 + r.IntN(20)
}

// crd returns the manifest of CRD i: a sample with another name and unique sections. It depends only on i.
func crd(t *testing.T, i int, samples []sample) []byte {
	t.Helper()
	r := rand.New(rand.NewPCG(1, uint64(i)))
	m := runtime.DeepCopyJSON(samples[i%len(samples)].crd)
	plural := fmt.Sprintf("scale%ds", i)
	m["metadata"] = map[string]any{"name": plural + "." + group(i)}
	spec := m["spec"].(map[string]any)
	spec["group"] = group(i)
	spec["names"] = map[string]any{
		"plural": plural, "singular": fmt.Sprintf("scale%d", i), "kind": kind(i), "listKind": kind(i) + "List",
		"shortNames": []any{fmt.Sprintf("sc%d", i)},
	}
	added := map[string]any{"only": map[string]any{"type": "integer", "maximum": i}}
	for n := range sections(r) {
		added[fmt.Sprintf("section%d", n)] = section(r)
	}
	for _, v := range spec["versions"].([]any) {
		schema := v.(map[string]any)["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)
		spec := schema["properties"].(map[string]any)["spec"].(map[string]any)
		spec["properties"].(map[string]any)["scale"] = map[string]any{"type": "object", "properties": added}
	}
	return marshal(t, m)
}

func marshal(t *testing.T, m map[string]any) []byte {
	t.Helper()
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

const prose = "The controller reads this field when it reconciles the object, and when a child of the object changes. " +
	"The default is configured by the cluster administrator. A change restarts the workload. "

// section returns a part of a schema like those of operators: descriptions, nested objects, lists, patterns, a rule.
func section(r *rand.Rand) map[string]any {
	text := func(max int) map[string]any {
		return map[string]any{"type": "string", "maxLength": 1 + r.IntN(max), "description": prose[:40+r.IntN(len(prose)-40)]}
	}
	properties := map[string]any{
		"name": map[string]any{"type": "string", "pattern": fmt.Sprintf("^[a-z][a-z0-9-]{0,%d}$", 1+r.IntN(60)),
			"description": prose},
		"mode": map[string]any{"type": "string", "enum": []any{"Auto", "Manual", fmt.Sprintf("Mode%d", r.IntN(1000))},
			"default": "Auto"},
		"replicas": map[string]any{"type": "integer", "format": "int32", "minimum": 0, "maximum": 1 + r.IntN(1000)},
		"limits": map[string]any{"type": "object", "additionalProperties": map[string]any{
			"anyOf": []any{map[string]any{"type": "integer"},
				map[string]any{"type": "string"}}, "x-kubernetes-int-or-string": true}, "maxProperties": 1 + r.IntN(30)},
		"conditions": map[string]any{"type": "array", "maxItems": 8, "x-kubernetes-list-type": "map",
			"x-kubernetes-list-map-keys": []any{"type"},
			"items": map[string]any{"type": "object", "required": []any{"type"},
				"properties": map[string]any{"type": text(300), "status": text(20), "message": text(3000)}}},
	}
	for n := range 2 + r.IntN(6) {
		properties[fmt.Sprintf("option%d", n)] = text(200)
	}
	out := map[string]any{"type": "object", "description": prose, "properties": properties}
	if r.IntN(3) == 0 {
		out["x-kubernetes-validations"] = []any{map[string]any{
			"rule": fmt.Sprintf("!has(self.replicas) || self.replicas != %d || self.mode == 'Manual'",
				r.IntN(1000)), "message": "this number needs manual mode"}}
	}
	return out
}

// objects returns the objects of CRD i as JSON. The second one exceeds the unique bound.
func objects(t *testing.T, i int, samples []sample) [][]byte {
	t.Helper()
	var all [][]byte
	for n, o := range samples[i%len(samples)].objects {
		o = runtime.DeepCopyJSON(o)
		_, version, _ := strings.Cut(o["apiVersion"].(string), "/")
		o["apiVersion"], o["kind"] = group(i)+"/"+version, kind(i)
		o["spec"].(map[string]any)["scale"] = map[string]any{"only": i + n, "section0": map[string]any{"name": "a"}}
		all = append(all, marshal(t, o))
	}
	return all
}

// TestGeneratedCRDs: the CRDs are accepted and distinct, and each has a valid and an invalid object.
func TestGeneratedCRDs(t *testing.T) {
	samples := readSamples(t)
	revisions, sizes := map[string]bool{}, [3]int{}
	for i := range 60 {
		text := crd(t, i, samples)
		definition, report, err := engine.Compile(t.Context(), engine.JSON(text), engine.Options{})
		if err != nil || !report.Accepted {
			t.Fatalf("CRD %d: %v, %+v", i, err, report)
		}
		revisions[definition.Revision()] = true
		sizes[min(len(text)/(10<<10), 2)]++
		for n, o := range objects(t, i, samples) {
			verdict, err := definition.Validate(t.Context(), engine.Create{Object: engine.JSON(o)}, engine.ValidateOptions{})
			if err != nil || verdict.Allowed != (n == 0) {
				t.Errorf("CRD %d, object %d: %v, %+v", i, n, err, verdict)
			}
		}
	}
	if len(revisions) != 60 || sizes[0] == 0 || sizes[1] == 0 || sizes[2] == 0 {
		t.Errorf("%d different CRDs; by size %v", len(revisions), sizes)
	}
}
