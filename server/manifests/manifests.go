// Package manifests says which files contain manifests, and splits the content of a file into manifests: its YAML or
// JSON documents, and the items of lists. It maps positions in a manifest to positions in the file. It does not validate
// manifests.
package manifests

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/value"
)

// IsFileName reports whether a file of a directory can contain manifests. Editors and kubelets create hidden files.
func IsFileName(name string) bool {
	return !strings.HasPrefix(name, ".") && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name))
}

// CRDKind is the kind of the manifests that crdeval registers.
const CRDKind = "CustomResourceDefinition"

// maxListBytes bounds a document that is a list. The engine bounds each item.
const maxListBytes = 64 << 20

// Document is a document of a file.
type Document struct {
	text   []byte
	lines  int // lines of the file before it
	offset int // in bytes
}

// Split splits the content of a file into documents: YAML documents, and JSON objects that follow each other. It skips
// documents without content.
func Split(content []byte) []Document { return SplitLine(content, 0) }

// SplitLine is Split for a part of a file that begins after a number of lines. The offsets of positions are those in the
// part.
func SplitLine(content []byte, before int) (all []Document) {
	offset := 0
	for d := range value.SplitYAML(content) {
		offset += bytes.Index(content[offset:], d.Text)
		lines := before + d.Line - 1
		for _, text := range splitJSON(d.Text) {
			all = append(all, Document{text, lines, offset})
			lines += bytes.Count(text, []byte{'\n'})
			offset += len(text)
		}
	}
	return all
}

// splitJSON returns the values of a text that is a sequence of JSON values, and otherwise the text.
func splitJSON(text []byte) (all [][]byte) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	for begin := int64(0); ; begin = decoder.InputOffset() {
		switch err := decoder.Decode(&json.RawMessage{}); {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			return [][]byte{text}
		}
		all = append(all, text[begin:decoder.InputOffset()])
	}
}

// Manifest is a document, or an item of a document that is a list.
type Manifest struct {
	Document engine.Document

	from   Document
	source *value.YAMLSource // only for an item, which was converted to JSON
	at     value.Path        // likewise: the path of the item
}

// Manifests yields the items of a list with their numbers from 1, or else the whole document with the number 0.
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
			at := value.Path{value.Name("items"), value.At(i)}
			if !yield(i+1, Manifest{Document: engine.JSON(item), from: d, source: source, at: at}) {
				return
			}
		}
	}
}

// items returns the items of a List or a CustomResourceDefinitionList, else nil.
func (d Document) items(whole engine.Document) ([]json.RawMessage, *value.YAMLSource) {
	if !bytes.Contains(d.text, []byte("List")) {
		return nil, nil // without parsing it
	}
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

// Line returns the line of the file on which the manifest begins, from 1. Comments and markers before it do not count.
func (m *Manifest) Line() int {
	if m.source != nil {
		return m.source.Position(m.at).Line + m.from.lines
	}
	line := m.from.lines
	for text := range bytes.Lines(m.from.text) {
		line++
		text = bytes.TrimSpace(text)
		if len(text) > 0 && text[0] != '#' && !bytes.Equal(text, []byte("---")) {
			break
		}
	}
	return line
}

// Position returns a position in the file. pointer is the JSON pointer of a field of the manifest, and own is its
// position in the text of the manifest.
func (m *Manifest) Position(pointer string, own engine.Position) engine.Position {
	if m.source != nil {
		own = m.source.Follow(m.at, pointer)
	}
	own.Line += m.from.lines
	own.Offset += m.from.offset
	return own
}

var lineInText = regexp.MustCompile(`\bline (\d+)`)

// Describe returns the text of an error about the manifest, with line numbers of the file, and the position of the
// error in the file. line and column are 0 if they are unknown.
func (m *Manifest) Describe(err error) (text string, line, column int) {
	var e *engine.Error
	if m.source == nil && errors.As(err, &e) && e.Position != nil && e.Position.Line > 0 {
		line, column = e.Position.Line+m.from.lines, e.Position.Column
	}
	text, first := m.FileLines(err.Error())
	if line == 0 {
		line = first
	}
	return text, line, column
}

// FileLines replaces the line numbers in a message about the manifest by those of the file. first is the first line
// number, or 0.
func (m *Manifest) FileLines(message string) (text string, first int) {
	text = lineInText.ReplaceAllStringFunc(message, func(found string) string {
		n, _ := strconv.Atoi(strings.TrimPrefix(found, "line "))
		if first == 0 {
			first = n + m.from.lines
		}
		return "line " + strconv.Itoa(n+m.from.lines)
	})
	return text, first
}
