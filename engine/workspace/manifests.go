// Package workspace says which files contain manifests, and splits the content of a file into manifests: its YAML or
// JSON documents, and the items of lists. It maps positions in a manifest to positions in the file. It does not validate
// manifests.
package workspace

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/value"
)

// IsFileName reports whether a file of a directory can contain manifests. Editors and kubelets create hidden files.
func IsFileName(name string) bool {
	return !strings.HasPrefix(name, ".") && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name))
}

// CRDKind is the kind of the manifests that crdeval registers.
const CRDKind = "CustomResourceDefinition"

// limits bound a document. The engine also bounds each manifest when it evaluates it.
var limits = engine.Limits{MaxBytes: 64 << 20}

// Document is a document of a file.
type Document struct {
	text  []byte
	at    start
	items []value.Span // of a list in JSON
}

// start is the position in a file at which a text begins.
type start struct {
	lines   int // before its first line
	columns int // before it on its first line, in code points
	offset  int // in bytes
}

// after returns the position after a text.
func (s start) after(text []byte) start {
	s.offset += len(text)
	if lines := bytes.Count(text, []byte{'\n'}); lines > 0 {
		s.lines += lines
		s.columns = 0
		text = text[bytes.LastIndexByte(text, '\n')+1:]
	}
	s.columns += utf8.RuneCount(text)
	return s
}

// Split splits the content of a file into documents: YAML documents, and JSON objects that follow each other. It skips
// documents without content.
func Split(content []byte) []Document { return SplitLine(content, 0) }

// SplitLine is Split for a part of a file that begins after a number of lines. The offsets of positions are those in the
// part.
func SplitLine(content []byte, before int) (all []Document) {
	for d := range value.SplitYAML(content) {
		document := Document{text: d.Text, at: start{lines: before + d.Line - 1, offset: d.Offset}}
		if kind, items, ok := value.PeekList(d.Text); ok && isList(kind) {
			document.items = items
			all = append(all, document)
			continue
		}
		values, _ := value.SplitJSON(d.Text)
		if len(values) < 2 || slices.ContainsFunc(values, func(v value.Span) bool { return !json.Valid(d.Text[v.Begin:v.End]) }) {
			all = append(all, document)
			continue
		}
		all = slices.AppendSeq(all, document.parts(values))
	}
	return all
}

// parts yields parts of a document.
func (d Document) parts(spans []value.Span) func(yield func(Document) bool) {
	return func(yield func(Document) bool) {
		at, done := d.at, 0
		for _, s := range spans {
			at, done = at.after(d.text[done:s.Begin]), s.Begin
			if !yield(Document{text: d.text[s.Begin:s.End], at: at}) {
				return
			}
		}
	}
}

// Manifests returns the items of a List or a CustomResourceDefinitionList, or else the whole document.
func (d Document) Manifests() []*Manifest {
	if d.items != nil {
		items := make([]*Manifest, 0, len(d.items))
		for part := range d.parts(d.items) {
			items = append(items, &Manifest{
				Document: engine.JSON(part.text), at: part.at, Location: Location{Item: len(items) + 1},
			})
		}
		identify(items)
		unreadable := func(m *Manifest) bool { return m.Err != nil }
		if !slices.ContainsFunc(items, unreadable) || json.Valid(d.text) {
			return items
		}
	}
	whole := d.whole()
	if isList(whole.Kind) {
		if items := d.itemsOfYAML(); items != nil {
			return items
		}
	}
	return []*Manifest{whole}
}

// identify sets the identities of manifests, with several goroutines.
func identify(list []*Manifest) {
	var group sync.WaitGroup
	for part := range slices.Chunk(list, len(list)/runtime.GOMAXPROCS(0)+1) {
		group.Go(func() {
			for _, m := range part {
				m.identify()
			}
		})
	}
	group.Wait()
}

func isList(kind string) bool { return kind == "List" || kind == CRDKind+"List" }

func (d Document) whole() *Manifest {
	document := engine.YAML(d.text)
	if json.Valid(d.text) {
		document = engine.JSON(d.text)
	}
	return newManifest(document, d.at, 0)
}

// itemsOfYAML returns the items of a list in YAML, as JSON. It returns nil if the field items is missing or not a list.
// If it is null, the list is empty, as for kubectl.
func (d Document) itemsOfYAML() []*Manifest {
	text, source, err := value.YAMLToJSON(d.text, limits)
	if err != nil {
		return nil
	}
	_, spans, ok := value.PeekList(text)
	if !ok {
		var fields map[string]json.RawMessage
		if _ = json.Unmarshal(text, &fields); string(fields["items"]) == "null" {
			return []*Manifest{}
		}
		return nil
	}
	var duplicates map[int]repeated
	if source.StrictError() != nil {
		if duplicates, err = withDuplicates(d.text); err != nil {
			return nil
		}
	}
	items, list := make([]*Manifest, 0, len(spans)), &listSource{source: source}
	for i, s := range spans {
		item := text[s.Begin:s.End]
		of, repeats := duplicates[i]
		if repeats && of.err == nil {
			item = of.json
		}
		m := newManifest(engine.JSON(item), d.at, i+1)
		if of.err != nil {
			m.Err = &engine.Error{Reason: engine.ReasonManifestUnreadable, Message: of.err.Error(), Err: of.err}
		}
		m.source = list
		items = append(items, m)
	}
	return items
}
