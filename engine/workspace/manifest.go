package workspace

import (
	"bytes"
	"errors"
	"sync"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/document"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// limits bound a document. The engine also bounds each manifest when it evaluates it.
var limits = engine.Limits{MaxBytes: 64 << 20}

// Manifest is a document of a text, or an item of a document that is a list.
type Manifest struct {
	// Document has an Origin: the engine returns positions in the text, for items of lists as well.
	Document engine.Document
	// File is the name of its file in messages.
	File string
	// Number is that of the document in the file, from 1. It is 0 for a document that is not part of a text.
	Number int
	// Item is the number of an item in a list, from 1. It is 0 for a document.
	Item int
	Identity
	// Err says why the document cannot be read. It is an *engine.Error with the position in the text. Then the Identity is
	// empty.
	Err error
	// Warnings are about the text around the document, for example text that kubectl ignores.
	Warnings []engine.Warning
	// IsTemplate reports whether the document is part of a template: see FilterOptions.Templates.
	IsTemplate bool
	// In is the file that has the manifest, nil for a document that is not part of a file.
	In *File

	crd *CRD // in the manifest; nil: it is of another kind

	origin *tree.Origin
	begin  int         // of the document, or of the one that has the item, in the text
	whole  tree.Span   // of the document in the text, also for an item
	list   []tree.Span // the items of a list in JSON that may be invalid
	once   sync.Once
	ranges *tree.Ranges // on first use
}

// New returns the manifest of a document that is not part of a text.
func New(d engine.Document) *Manifest {
	text := d.JSON
	if d.YAML != nil {
		text = d.YAML
	}
	m := &Manifest{Document: d, origin: tree.NewText(text, tree.Position{}).At(0)}
	m.identify()
	return m
}

// part returns the manifest of the document text[begin:end].
func part(text *tree.Text, begin, end int, isJSON bool) *Manifest {
	m := &Manifest{origin: text.At(begin), begin: begin, whole: tree.Span{Begin: begin, End: end}}
	if content := text.Bytes()[begin:end]; isJSON {
		m.Document.JSON = content
	} else {
		m.Document.YAML = content
	}
	return m
}

// identify sets the identity of the document, or the error.
func (m *Manifest) identify() {
	m.Document.Origin = m.origin
	if m.Identity, m.Err = readIdentity(m.Document); m.Err == nil {
		return
	}
	if looksLikeJSON(m.Document.YAML) { // kubectl reports the error of JSON
		asJSON := engine.Document{JSON: m.Document.YAML, Origin: m.origin}
		if _, err := readIdentity(asJSON); err != nil {
			m.Err = err
		}
	}
	var e *engine.Error
	if errors.As(m.Err, &e) && e.Position == nil {
		located, at := *e, m.Start()
		located.Position = &at
		m.Err = &located
	}
}

// looksLikeJSON reports whether a text begins with an object that has a quoted key.
func looksLikeJSON(text []byte) bool {
	rest, found := bytes.CutPrefix(bytes.TrimSpace(text), []byte("{"))
	return found && bytes.HasPrefix(bytes.TrimSpace(rest), []byte(`"`))
}

// JSON returns the manifest as JSON, or nil if it cannot be read.
func (m *Manifest) JSON() []byte {
	if m.Err != nil || m.Document.YAML == nil {
		return m.Document.JSON
	}
	text, _, err := tree.ConvertPart(tree.NewText(m.Document.YAML, tree.Position{}), 0, len(m.Document.YAML), limits)
	if err != nil {
		return nil // it was read before
	}
	return text
}

// Text returns the text that has the manifest.
func (m *Manifest) Text() *document.Text { return m.origin.Text() }

// Extent returns the offsets of the document in the text. They include text after the document that kubectl ignores.
// For an item of a list, they are those of the document that contains the item.
func (m *Manifest) Extent() (begin, end int) {
	if m.whole == (tree.Span{}) {
		return m.begin, m.begin + len(m.text())
	}
	return m.whole.Begin, m.whole.End
}

// Line returns the line of the text on which the manifest begins, from 1. Comments and markers before it do not count.
func (m *Manifest) Line() int { return m.Start().Line }

// Start returns the position at which the manifest begins. Comments and markers before it do not count.
func (m *Manifest) Start() engine.Position {
	begin := m.origin.Begin()
	if m.Document.YAML != nil {
		begin += contentBegin(m.Document.YAML)
	}
	return m.origin.Text().Position(begin)
}

// contentBegin returns the offset of the first line that is not a comment or a marker, without its indentation.
func contentBegin(text []byte) (offset int) {
	for line := range bytes.Lines(text) {
		if trimmed := bytes.TrimSpace(line); len(trimmed) > 0 && trimmed[0] != '#' && !bytes.HasPrefix(trimmed, []byte("---")) {
			return offset + bytes.Index(line, trimmed)
		}
		offset += len(line)
	}
	return 0
}
