package crdeval

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"sigs.k8s.io/yaml"
)

// crdKind is the kind of the manifests that RegisterDir looks for.
const crdKind = "CustomResourceDefinition"

// RegisterDir registers the CRDs of a directory as RegisterAll does, and then sets the conversion rules of the directory
// as SetConversion does. It reads the files *.yaml, *.yml and *.json, sorted by name, but no subdirectories, as
// `kubectl apply -f` does. A file may have several documents and lists of CRDs. Conversion rules are documents with the
// field crd and without kind and apiVersion. Documents of another kind are ignored. A document that cannot be parsed has
// a result with an error.
//
// The results of CRDs come first. If a call fails for another reason than its documents, RegisterDir returns its error
// with the results of the earlier calls.
func (c *Client) RegisterDir(ctx context.Context, dir string) ([]Registered, error) {
	crds, rules, err := readDir(dir)
	if err != nil {
		return nil, fmt.Errorf("crdeval: register: %w", err)
	}
	all, err := c.RegisterAll(ctx, mapped(crds, func(d document) []byte { return d.text })...)
	for i := range all {
		all[i].Source = crds[i].source
	}
	for _, d := range rules {
		if err != nil {
			break
		}
		set := Registered{Source: d.source, Name: d.crd}
		set.Conversion, set.Err = c.SetConversion(ctx, d.crd, d.text, ConversionOptions{})
		if err = outageOf(set.Err); err == nil {
			all = append(all, set)
		}
	}
	return all, err
}

// outageOf returns err if it is not about the document of a call: then later calls would fail, too.
func outageOf(err error) error {
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.Unauthenticated, codes.PermissionDenied:
		return err
	}
	return nil
}

// document is a document of a file.
type document struct {
	source string // see Registered
	text   []byte
	crd    string // of conversion rules: the name of their CRD
	rules  bool
}

// readDir returns the CRDs and the conversion rules of the files of a directory.
func readDir(dir string) (crds, rules []document, err error) {
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
		found := documentsOf(text)
		for i, d := range found {
			if d.source = path; len(found) > 1 {
				d.source = fmt.Sprintf("%s#%d", path, i+1)
			}
			if d.rules {
				rules = append(rules, d)
			} else {
				crds = append(crds, d)
			}
		}
	}
	return crds, rules, nil
}

// marker matches the line between two YAML documents.
var marker = regexp.MustCompile(`(?m)^---([ \t].*)?\r?$`)

// documentsOf returns the CRDs and conversion rules of a file, and the documents that cannot be parsed. The server reports
// the errors of the latter.
func documentsOf(text []byte) (all []document) {
	for _, part := range marker.Split(string(text), -1) {
		var d struct {
			APIVersion, Kind string
			CRD              json.RawMessage
			Items            []json.RawMessage
		}
		asJSON, err := yaml.YAMLToJSON([]byte(part)) // JSON is YAML too
		switch {
		case err != nil || json.Unmarshal(asJSON, &d) != nil || d.Kind == crdKind:
			all = append(all, document{text: []byte(part)})
		case d.Kind == "" && d.APIVersion == "" && d.CRD != nil:
			rules := document{text: []byte(part), rules: true}
			_ = json.Unmarshal(d.CRD, &rules.crd) // the server rejects another type
			all = append(all, rules)
		case d.Kind == "List" || d.Kind == crdKind+"List":
			for _, item := range d.Items {
				var of struct{ Kind string }
				if json.Unmarshal(item, &of) == nil && of.Kind == crdKind {
					all = append(all, document{text: item})
				}
			}
		}
	}
	return all
}
