package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"sigs.k8s.io/yaml"
)

// workplace is a temporary directory with the files of the cli cases: crds, schemas, and folders with objects.
type workplace struct {
	directories
	folder  string
	tools   []commandTool
	route   []byte // the HTTPRoute in JSON
	crdSize int
	counts  map[string]int // objects in each folder
}

// prepare writes the CRD in YAML, its JSON schema, and the folder "faulty" with an invalid object.
func (w *workplace) prepare(objects string) error {
	o, err := load(objects, slices.IndexFunc(objectList(), func(name string) bool { return name == "httproute-small" }))
	if err != nil {
		return err
	}
	v, err := o.version()
	if err != nil {
		return err
	}
	schema, err := jsonSchema(o.text, v.Name)
	if err != nil {
		return err
	}
	crd, err := yaml.JSONToYAML(o.text)
	if err != nil {
		return err
	}
	w.route, w.crdSize, w.counts = o.body, len(crd), map[string]int{}
	if err := w.write("schemas", "httproute_v1.json", schema); err != nil {
		return err
	}
	if err := w.write("crds", "httproutes.yaml", crd); err != nil {
		return err
	}
	faulty, err := yaml.JSONToYAML(bytes.Replace(o.body, []byte(`"port":8080`), []byte(`"port":80800`), 1))
	if err != nil {
		return err
	}
	return w.write("faulty", "route.yaml", faulty)
}

func objectList() (names []string) {
	for i := range objects {
		names = append(names, objects[i].name)
	}
	return names
}

func (w *workplace) write(folder, name string, text []byte) error {
	if err := os.MkdirAll(filepath.Join(w.folder, folder), 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(w.folder, folder, name), text, 0o600)
}

// objects writes n different HTTPRoutes, one YAML file each, into a folder.
func (w *workplace) objects(folder string, n int) error {
	w.counts[folder] = n
	for i := range n {
		text, err := yaml.JSONToYAML(w.object(i))
		if err == nil {
			err = w.write(folder, fmt.Sprintf("route-%05d.yaml", i), text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// list writes n different HTTPRoutes as a List, indented as kubectl does, and returns its size.
func (w *workplace) list(folder string, n int) (int, error) {
	w.counts[folder] = n
	items := make([]json.RawMessage, n)
	for i := range items {
		items[i] = w.object(i)
	}
	text, err := json.MarshalIndent(map[string]any{
		"apiVersion": "v1", "kind": "List", "metadata": map[string]any{"resourceVersion": ""}, "items": items,
	}, "", "    ")
	if err != nil {
		return 0, err
	}
	return len(text), w.write(folder, "list.json", text)
}

// object returns the i-th variant of the HTTPRoute: names, hosts, paths and ports differ.
func (w *workplace) object(i int) []byte {
	return variant(w.route, i, [][2]string{
		{`"name":"shop"`, `"name":"shop-%d"`}, {`"shop.example.com"`, `"shop-%d.example.com"`},
		{`"/cart"`, `"/cart/%d"`}, {`"name":"cart-canary"`, `"name":"cart-%d-canary"`},
	})
}

func variant(text []byte, i int, replacements [][2]string) []byte {
	for _, r := range replacements {
		text = bytes.ReplaceAll(text, []byte(r[0]), fmt.Appendf(nil, r[1], i))
	}
	return text
}
