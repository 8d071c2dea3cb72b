package crdeval

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"sigs.k8s.io/yaml"
)

// crdKind is the kind of the manifests that RegisterDir looks for.
const crdKind = "CustomResourceDefinition"

// RegisterDir registers the CRDs of a directory as RegisterAll does. It reads the files *.yaml, *.yml and *.json,
// sorted by name, but no subdirectories, as `kubectl apply -f` does. A file may have several documents and lists of
// CRDs. Documents of another kind are ignored. A document that cannot be parsed has a result with an error.
func (c *Client) RegisterDir(ctx context.Context, dir string) ([]Registered, error) {
	sources, manifests, err := readDir(dir)
	if err != nil {
		return nil, fmt.Errorf("crdeval: register: %w", err)
	}
	all, err := c.RegisterAll(ctx, manifests...)
	for i := range all {
		all[i].Source = sources[i]
	}
	return all, err
}

// readDir returns the manifests of the files of a directory, and the Source of each.
func readDir(dir string) (sources []string, manifests [][]byte, err error) {
	entries, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		if !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(e.Name())) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if info, err := os.Stat(path); err != nil { // follows symbolic links
			return nil, nil, err
		} else if info.IsDir() {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, nil, err
		}
		found := crdsOf(text)
		for i := range found {
			source := path
			if len(found) > 1 {
				source = fmt.Sprintf("%s#%d", path, i+1)
			}
			sources = append(sources, source)
		}
		manifests = append(manifests, found...)
	}
	return sources, manifests, nil
}

// marker matches the line between two YAML documents.
var marker = regexp.MustCompile(`(?m)^---([ \t].*)?\r?$`)

// crdsOf returns the CRDs of a file and the documents that cannot be parsed. The server reports the errors of the
// latter.
func crdsOf(text []byte) (all [][]byte) {
	for _, document := range marker.Split(string(text), -1) {
		var d struct {
			Kind  string
			Items []json.RawMessage
		}
		asJSON, err := yaml.YAMLToJSON([]byte(document)) // JSON is YAML too
		switch {
		case err != nil || json.Unmarshal(asJSON, &d) != nil || d.Kind == crdKind:
			all = append(all, []byte(document))
		case d.Kind == "List" || d.Kind == crdKind+"List":
			for _, item := range d.Items {
				var of struct{ Kind string }
				if json.Unmarshal(item, &of) == nil && of.Kind == crdKind {
					all = append(all, item)
				}
			}
		}
	}
	return all
}
