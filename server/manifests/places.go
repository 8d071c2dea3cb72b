package manifests

import (
	"bytes"
	"errors"
	"regexp"
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine"
)

// Begin is the line of the file on which the manifest begins, from 1.
func (m *Manifest) Begin() int {
	if m.source != nil {
		return m.source.Position(m.at).Line + m.from.lines
	}
	return m.from.firstLine()
}

// firstLine is the first line of a document that is neither blank, a comment nor a marker.
func (d Document) firstLine() int {
	line := d.lines
	for text := range bytes.Lines(d.text) {
		line++
		if hasContent(text) {
			break
		}
	}
	return line
}

// Place is where in the file something is: pointer leads to it in the manifest, told is where the engine says it is in the manifest's text.
func (m *Manifest) Place(pointer string, told engine.Position) engine.Position {
	if m.source != nil {
		told = m.source.Follow(m.at, pointer)
	}
	told.Line += m.from.lines
	told.Offset += m.from.offset
	return told
}

var lineInText = regexp.MustCompile(`\bline (\d+)`)

// InFile words an error for who looks at the file: its lines are those of the file. line and column are where in the file it is, each 0 if that is not known.
func (m *Manifest) InFile(err error) (text string, line, column int) {
	var e *engine.Error
	if m.source == nil && errors.As(err, &e) && e.Position != nil && e.Position.Line > 0 {
		line, column = e.Position.Line+m.from.lines, e.Position.Column
	}
	text = lineInText.ReplaceAllStringFunc(err.Error(), func(found string) string {
		n, _ := strconv.Atoi(strings.TrimPrefix(found, "line "))
		if line == 0 {
			line = n + m.from.lines
		}
		return "line " + strconv.Itoa(n+m.from.lines)
	})
	return text, line, column
}
