package crdeval

import (
	"bytes"
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
	found, err := readDir(dir)
	if err != nil {
		return nil, fmt.Errorf("crdeval: register: %w", err)
	}
	texts := make([][]byte, len(found))
	for i, m := range found {
		texts[i] = m.text
	}
	all, err := c.RegisterAll(ctx, texts...)
	for i := range all {
		all[i].Source = found[i].source
	}
	return all, err
}

// manifest is a document of a file, or an item of a list in a file.
type manifest struct {
	source string
	text   []byte
}

func readDir(dir string) ([]manifest, error) {
	entries, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return nil, err
	}
	var all []manifest
	for _, e := range entries {
		if !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(e.Name())) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if info, err := os.Stat(path); err != nil { // follows symbolic links
			return nil, err
		} else if info.IsDir() {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		found := crdsOf(text)
		for i, m := range found {
			source := path
			if len(found) > 1 {
				source = fmt.Sprintf("%s#%d", path, i+1)
			}
			all = append(all, manifest{source, m})
		}
	}
	return all, nil
}

// crdsOf returns the CRDs of a file and the documents that cannot be parsed. The server reports the errors of the
// latter.
func crdsOf(text []byte) (all [][]byte) {
	for _, document := range documentsOf(text) {
		var d struct {
			Kind  string
			Items []json.RawMessage
		}
		asJSON, err := yaml.YAMLToJSON(document) // JSON is YAML too
		switch {
		case err != nil || json.Unmarshal(asJSON, &d) != nil || d.Kind == crdKind:
			all = append(all, document)
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

// marker matches the line between two YAML documents.
var marker = regexp.MustCompile(`(?m)^---([ \t].*)?\r?$`)

// documentsOf splits a file into its documents. It drops documents that only have comments.
func documentsOf(text []byte) (all [][]byte) {
	from := 0
	add := func(document []byte) {
		for line := range bytes.Lines(document) {
			if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
				all = append(all, document)
				return
			}
		}
	}
	for _, at := range marker.FindAllIndex(text, -1) {
		add(text[from:at[0]])
		from = at[1]
	}
	add(text[from:])
	return all
}
