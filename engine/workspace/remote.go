package workspace

import (
	"errors"
	"regexp"
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// The functions of this file are for callers that send a document to a service, which does not know its Origin.

// Position returns the position of a field in the text. pointer is the JSON pointer of the field in the manifest, and
// own is its position in the document alone.
func (m *Manifest) Position(pointer string, own engine.Position) engine.Position {
	if m.origin.Converted() {
		return m.origin.Follow(pointer)
	}
	if start := m.Text().Position(m.begin); start.Line == 0 {
		return own
	} else if own.Offset == 0 {
		if own.Line == 1 && own.Column > 0 {
			own.Column += start.Column - 1
		}
		own.Line += start.Line - 1
		own.Offset = start.Offset
		return own
	}
	return m.Text().Position(m.begin + own.Offset)
}

var lineInText = regexp.MustCompile(`\bline (\d+)\b`)

// Describe returns the message of an error about the manifest, and the position of the error. Line numbers, also those
// in the message, are those of the text. line and column are 0 if they are unknown.
func (m *Manifest) Describe(err error) (text string, line, column int) {
	var e *engine.Error
	var syntax *tree.SyntaxError
	known := errors.As(err, &e) && e.Position != nil && e.Position.Line > 0
	if m.Err != nil && errors.Is(err, m.Err) || errors.As(err, &syntax) && syntax.Located() {
		if known {
			line, column = e.Position.Line, e.Position.Column
		}
		return err.Error(), line, column
	}
	if known && !m.origin.Converted() {
		at := m.Position("", *e.Position)
		line, column = at.Line, at.Column
	}
	text = shiftLines(err.Error(), max(0, m.Text().Position(m.begin).Line-1))
	if found := lineInText.FindStringSubmatch(text); found != nil && line == 0 {
		line, _ = strconv.Atoi(found[1])
	}
	return text, line, column
}

// shiftLines adds n to each line number in a message.
func shiftLines(message string, n int) string {
	return lineInText.ReplaceAllStringFunc(message, func(found string) string {
		line, _ := strconv.Atoi(strings.TrimPrefix(found, "line "))
		return "line " + strconv.Itoa(line+n)
	})
}
