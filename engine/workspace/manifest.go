package workspace

import (
	"bytes"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/value"
)

// Manifest is a document, or an item of a document that is a list.
type Manifest struct {
	Document engine.Document
	Item     int // the number of an item in its list, from 1; 0 for a document
	engine.Identity
	Err error // why the document cannot be read, an *engine.Error; then the Identity is empty

	at     start
	source *listSource // of the list in YAML that the item was converted from
}

// listSource has the positions in a list in YAML. Its items can be used concurrently.
type listSource struct {
	mu     sync.Mutex
	source *value.YAMLSource
}

// follow returns the position of a JSON pointer in an item.
func (l *listSource) follow(item value.Path, pointer string) engine.Position {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.source.Follow(item, pointer)
}

// New returns the manifest of a document that is not part of a file.
func New(document engine.Document) *Manifest { return newManifest(document, start{}, 0) }

func newManifest(document engine.Document, at start, item int) *Manifest {
	m := &Manifest{Document: document, at: at, Item: item}
	m.identify()
	return m
}

// identify sets the identity of the document, or the error.
func (m *Manifest) identify() { m.Identity, m.Err = engine.IdentityOf(m.Document, limits) }

// JSON returns the manifest as JSON, or nil if it cannot be read.
func (m *Manifest) JSON() []byte {
	if m.Err != nil || m.Document.YAML == nil {
		return m.Document.JSON
	}
	text, _, _ := value.YAMLToJSON(m.Document.YAML, limits) // it was read before
	return text
}

// path returns the path of the item in the list.
func (m *Manifest) path() value.Path { return value.Path{value.Name("items"), value.At(m.Item - 1)} }

// Line returns the line of the file on which the manifest begins, from 1. Comments and markers before it do not count.
func (m *Manifest) Line() int {
	if m.source != nil {
		return m.source.follow(m.path(), "").Line + m.at.lines
	}
	line := m.at.lines
	for text := range bytes.Lines(m.text()) {
		line++
		text = bytes.TrimSpace(text)
		if len(text) > 0 && text[0] != '#' && !bytes.Equal(text, []byte("---")) {
			break
		}
	}
	return line
}

// text returns the text of the manifest in the file, unless it has a source.
func (m *Manifest) text() []byte {
	if m.Document.YAML != nil {
		return m.Document.YAML
	}
	return m.Document.JSON
}

// Position returns a position in the file. pointer is the JSON pointer of a field of the manifest, and own is its
// position in the text of the manifest.
func (m *Manifest) Position(pointer string, own engine.Position) engine.Position {
	if m.source != nil {
		own = m.source.follow(m.path(), pointer)
	}
	if own.Line == 1 && own.Column > 0 {
		own.Column += m.at.columns
	}
	own.Line += m.at.lines
	own.Offset += m.at.offset
	return own
}

var lineInText = regexp.MustCompile(`\bline (\d+)\b`)

// Describe returns the text of an error about the manifest, with line numbers of the file, and the position of the
// error in the file. line and column are 0 if they are unknown.
func (m *Manifest) Describe(err error) (text string, line, column int) {
	var e *engine.Error
	if errors.As(err, &e) && m.source == nil && e.Position != nil && e.Position.Line > 0 {
		at := m.Position("", *e.Position)
		line, column = at.Line, at.Column
	}
	if text = m.FileLines(err.Error()); e != nil && e.Rejection == nil && len(e.Violations) > 0 {
		text = e.Violations[0].Message // without the line that the YAML library counts
	}
	if found := lineInText.FindStringSubmatch(text); found != nil && line == 0 {
		line, _ = strconv.Atoi(found[1])
	}
	return text, line, column
}

// FileLines replaces the line numbers in a message about the manifest by those of the file.
func (m *Manifest) FileLines(message string) string { return ShiftLines(message, m.at.lines) }

// ShiftLines adds n to each line number in a message.
func ShiftLines(message string, n int) string {
	return lineInText.ReplaceAllStringFunc(message, func(found string) string {
		line, _ := strconv.Atoi(strings.TrimPrefix(found, "line "))
		return "line " + strconv.Itoa(line+n)
	})
}
