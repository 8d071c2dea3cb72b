package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/value"
)

// document is one of a file: where it begins, for positions.
type document struct {
	text   []byte
	lines  int // before it
	offset int // in bytes
}

// split cuts a stream of YAML documents where kubectl cuts it. Documents without content are left out.
func split(content []byte) ([]document, error) {
	reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	var all []document
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
			all = append(all, document{text, bytes.Count(content[:offset], []byte("\n")), offset})
		}
		offset += len(text)
	}
	if len(all) == 0 {
		return nil, errors.New("there is no document in it")
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

// manifest is what is judged: a document, or an item of one that is a list.
type manifest struct {
	document engine.Document
	from     document
	source   *value.YAMLSource // of an item: it was turned into JSON, and its places are looked up
	at       value.Path        // likewise, where the item is
}

// manifests yields what a document holds, with the number of the item, from 1, where it is a list.
func (d document) manifests() iter.Seq2[int, manifest] {
	whole := manifest{document: engine.YAML(d.text), from: d}
	if json.Valid(d.text) {
		whole.document = engine.JSON(d.text)
	}
	return func(yield func(int, manifest) bool) {
		items, source := d.items(whole.document)
		if items == nil {
			yield(0, whole)
			return
		}
		for i, item := range items {
			m := manifest{document: engine.JSON(item), from: d, source: source, at: value.Path{value.Name("items"), value.At(i)}}
			if !yield(i+1, m) {
				return
			}
		}
	}
}

// items are those of a list: one that kubectl makes (List), or one of a typed kind. They are nil for everything else.
func (d document) items(whole engine.Document) ([]json.RawMessage, *value.YAMLSource) {
	_, kind, err := engine.TypeMetaOf(whole, engine.Limits{})
	if err != nil || kind != "List" && kind != crdKind+"List" {
		return nil, nil
	}
	text, source, err := value.YAMLToJSON(d.text, value.Limits{MaxBytes: 64 << 20}) // JSON is YAML as well
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

// begin is the line on which the manifest begins.
func (m *manifest) begin() int {
	if m.source != nil {
		return m.source.Position(m.at).Line + m.from.lines
	}
	return m.from.firstLine()
}

// firstLine is the first line of a document that is neither blank, a comment nor a marker.
func (d document) firstLine() int {
	line := d.lines
	for text := range bytes.Lines(d.text) {
		line++
		if hasContent(text) {
			break
		}
	}
	return line
}

// place is where in the file something is: told is the place in the manifest.
func (m *manifest) place(pointer string, told engine.Position) *position {
	if m.source != nil {
		told = m.lookUp(pointer)
	}
	return &position{Line: told.Line + m.from.lines, Column: told.Column, Offset: told.Offset + m.from.offset}
}

// lookUp follows a pointer into an item as far as the document goes.
func (m *manifest) lookUp(pointer string) value.Position {
	path, at := m.at, m.source.Position(m.at)
	if pointer == "" {
		return at
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		next := path.With(value.Name(strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")))
		if n, err := strconv.Atoi(token); err == nil && n >= 0 {
			if index := path.With(value.At(n)); m.source.Position(index) != at {
				next = index
			}
		}
		path, at = next, m.source.Position(next)
	}
	return at
}

var lineInText = regexp.MustCompile(`\bline (\d+)`)

// inFile words an error for who looks at the file: its lines are those of the file, 0 if none is known.
func (m *manifest) inFile(err error) (text string, line int) {
	var e *engine.Error
	if m.source == nil && errors.As(err, &e) && e.Position != nil && e.Position.Line > 0 {
		line = e.Position.Line + m.from.lines
	}
	text = lineInText.ReplaceAllStringFunc(err.Error(), func(found string) string {
		n, _ := strconv.Atoi(strings.TrimPrefix(found, "line "))
		if line == 0 {
			line = n + m.from.lines
		}
		return "line " + strconv.Itoa(n+m.from.lines)
	})
	return text, line
}
