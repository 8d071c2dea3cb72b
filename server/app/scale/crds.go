package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// sample is a sample CRD with objects.
type sample struct {
	crd     map[string]any
	objects []map[string]any // a valid and an invalid one
}

// readSamples reads the crontab, database and pipeline samples.
func readSamples(dir string) ([]sample, error) {
	var all []sample
	for _, name := range []string{"crontab", "database", "pipeline"} {
		var s sample
		if err := read(filepath.Join(dir, "crds", name+"s.yaml"), &s.crd); err != nil {
			return nil, err
		}
		for _, which := range []string{"valid", "rejected"} {
			var o map[string]any
			if err := read(filepath.Join(dir, "objects", name+"-"+which+".yaml"), &o); err != nil {
				return nil, err
			}
			s.objects = append(s.objects, o)
		}
		all = append(all, s)
	}
	return all, nil
}

func read(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
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
func crd(i int, samples []sample) ([]byte, error) {
	r := rand.New(rand.NewPCG(1, uint64(i)))
	m := clone(samples[i%len(samples)].crd)
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
	return json.Marshal(m)
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
func objects(i int, samples []sample) ([][]byte, error) {
	var all [][]byte
	for n, o := range samples[i%len(samples)].objects {
		o = clone(o)
		_, version, _ := strings.Cut(o["apiVersion"].(string), "/")
		o["apiVersion"], o["kind"] = group(i)+"/"+version, kind(i)
		o["spec"].(map[string]any)["scale"] = map[string]any{"only": i + n, "section0": map[string]any{"name": "a"}}
		text, err := json.Marshal(o)
		if err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, nil
}

// clone copies parsed JSON.
func clone(m map[string]any) map[string]any {
	text, err := json.Marshal(m)
	if err != nil {
		panic(err) // cannot happen: it was parsed from JSON
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		panic(err)
	}
	return out
}
