// Package manifests reads files of manifests as kubectl reads them: the YAML or JSON documents of a file, the items of those that are lists, and
// where in the file each of them and each place in it is.
//
// It judges nothing: what a manifest means is the engine's business. A stream is cut at the markers between its documents, so that what is wrong with one
// of them does not keep the others from being read.
package manifests

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"iter"

	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/internal/value"
)

// CRDKind is the kind of the manifests that crdeval knows.
const CRDKind = "CustomResourceDefinition"

// maxListBytes bounds a document that is a list. What an item of it may have is the engine's to say.
const maxListBytes = 64 << 20

// ErrEmpty is the error of a file without a document: it is empty, or has only comments.
var ErrEmpty = errors.New("there is no document in it")

// Document is one of a file, with the place where it begins.
type Document struct {
	text   []byte
	lines  int // before it
	offset int // in bytes
}

// Split cuts the contents of a file into documents, where kubectl cuts them. Documents without content are left out; if there is no other one, the error is
// ErrEmpty.
func Split(content []byte) ([]Document, error) {
	reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	var all []Document
	offset := 0
	for {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if at := bytes.Index(content[offset:], text); at >= 0 {
			offset += at
		}
		if hasContent(text) {
			all = append(all, Document{text, bytes.Count(content[:offset], []byte("\n")), offset})
		}
		offset += len(text)
	}
	if len(all) == 0 {
		return nil, ErrEmpty
	}
	return all, nil
}

// hasContent says whether there is anything but comments and white space.
func hasContent(text []byte) bool {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && !bytes.Equal(line, []byte("---")) {
			return true
		}
	}
	return false
}

// Manifest is what is judged: a document, or an item of one that is a list.
type Manifest struct {
	Document engine.Document

	from   Document
	source *value.YAMLSource // of an item: it was turned into JSON, and its places are looked up
	at     value.Path        // likewise, where the item is
}

// Manifests yields what a document holds, with the number of the item, from 1, where it is a list; 0 where it is none.
func (d Document) Manifests() iter.Seq2[int, Manifest] {
	whole := Manifest{Document: engine.YAML(d.text), from: d}
	if json.Valid(d.text) {
		whole.Document = engine.JSON(d.text)
	}
	return func(yield func(int, Manifest) bool) {
		items, source := d.items(whole.Document)
		if items == nil {
			yield(0, whole)
			return
		}
		for i, item := range items {
			m := Manifest{Document: engine.JSON(item), from: d, source: source, at: value.Path{value.Name("items"), value.At(i)}}
			if !yield(i+1, m) {
				return
			}
		}
	}
}

// items are those of a list: one that kubectl makes (List), or one of a typed kind. They are nil for everything else.
func (d Document) items(whole engine.Document) ([]json.RawMessage, *value.YAMLSource) {
	_, kind, err := engine.TypeMetaOf(whole, engine.Limits{})
	if err != nil || kind != "List" && kind != CRDKind+"List" {
		return nil, nil
	}
	text, source, err := value.YAMLToJSON(d.text, value.Limits{MaxBytes: maxListBytes}) // JSON is YAML as well
	if err != nil {
		return nil, nil
	}
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	if json.Unmarshal(text, &list) != nil {
		return nil, nil
	}
	return list.Items, source
}
