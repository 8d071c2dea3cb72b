package corpus

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

func (c *Corpus) readCRDs(m module, dir string) error {
	files, err := find(dir, m.crds)
	if err != nil {
		return err
	}
	for _, f := range files {
		for _, doc := range documents(filepath.Join(dir, f.path)) {
			var crd apiextensionsv1.CustomResourceDefinition
			if json.Unmarshal(doc, &crd) != nil || crd.Kind != "CustomResourceDefinition" || !strings.HasPrefix(crd.APIVersion, "apiextensions.k8s.io/") {
				continue
			}
			e := CRD{Module: m.path, Path: f.path, Name: crd.Name, Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind, Doc: doc}
			for _, v := range crd.Spec.Versions {
				e.Versions = append(e.Versions, v.Name)
			}
			c.CRDs = append(c.CRDs, e)
		}
	}
	return nil
}

// index finds the CRDs of an object and records the objects that it has seen.
type index struct {
	byKind map[string][]int // apiVersion and kind
	seen   map[[32]byte]bool
}

func newIndex(crds []CRD) *index {
	x := &index{byKind: map[string][]int{}, seen: map[[32]byte]bool{}}
	for i, crd := range crds {
		for _, v := range crd.Versions {
			k := crd.Group + "/" + v + " " + crd.Kind
			x.byKind[k] = append(x.byKind[k], i)
		}
	}
	return x
}

func (c *Corpus) readSamples(m module, dir string, x *index) error {
	files, err := find(dir, m.samples)
	if err != nil {
		return err
	}
	for _, f := range files {
		path := filepath.Join(dir, f.path)
		var docs [][]byte
		if strings.HasSuffix(path, ".md") {
			docs = fenced(path)
		} else {
			docs = documents(path)
		}
		for _, doc := range docs {
			if m.path == RatchetingModule {
				c.Ratcheting = append(c.Ratcheting, Object{Path: f.path, Promise: f.tag, Doc: doc})
			}
			c.addSample(x, m.path, f.path, f.tag, doc)
		}
	}
	return nil
}

// addSample adds an object that a CRD of the corpus serves, once.
func (c *Corpus) addSample(x *index, modulePath, path, promise string, doc []byte) {
	var head struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Items      []json.RawMessage `json:"items"`
	}
	if json.Unmarshal(doc, &head) != nil {
		return
	}
	if head.Kind == "List" {
		for _, item := range head.Items {
			c.addSample(x, modulePath, path, promise, item)
		}
		return
	}
	crds := x.byKind[head.APIVersion+" "+head.Kind]
	if len(crds) == 0 {
		return
	}
	if sum := sha256.Sum256(doc); x.seen[sum] {
		return
	} else {
		x.seen[sum] = true
	}
	_, version, _ := strings.Cut(head.APIVersion, "/")
	c.Samples = append(c.Samples, Sample{Module: modulePath, Path: path, CRDs: crds, Version: version, Promise: promise, Doc: doc})
}

var separator = regexp.MustCompile(`(?m)^---[ \t]*(#.*)?$`)

// documents returns the JSON of each readable document of a YAML or JSON file. Templates, for example, are not
// readable.
func documents(path string) [][]byte {
	switch filepath.Ext(path) {
	case ".yaml", ".yml", ".json":
	default:
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return split(data)
}

func split(data []byte) [][]byte {
	var docs [][]byte
	for _, part := range separator.Split(string(data), -1) {
		doc, err := yaml.YAMLToJSON([]byte(part))
		if err != nil || !bytes.HasPrefix(doc, []byte("{")) {
			continue
		}
		docs = append(docs, doc)
	}
	return docs
}

var fence = regexp.MustCompile("(?s)```[ \t]*(?:ya?ml|json)[^\n]*\n(.*?)\n[ \t]*```")

// fenced returns the documents in the code blocks of a Markdown file.
func fenced(path string) [][]byte {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	var docs [][]byte
	for _, m := range fence.FindAllSubmatch(data, -1) {
		docs = append(docs, split(dedent(m[1]))...)
	}
	return docs
}

// dedent removes the indentation of the first line from all lines, because code blocks in lists are indented.
func dedent(block []byte) []byte {
	trimmed := bytes.TrimLeft(block, " ")
	indent := len(block) - len(trimmed)
	if indent == 0 {
		return block
	}
	return bytes.ReplaceAll(append([]byte("\n"), block...), append([]byte("\n"), block[:indent]...), []byte("\n"))[1:]
}
