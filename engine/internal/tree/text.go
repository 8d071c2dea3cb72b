package tree

import (
	"bytes"
	"sort"
	"sync"
)

// Text is a text with documents: a file, or the body of a request. It finds lines on first use, and is safe for
// concurrent use.
type Text struct {
	bytes []byte // UTF-8
	begin Position
	once  sync.Once
	index textIndex
}

// NewText returns a Text. Positions and offsets of UTF-16 refer to the text in UTF-8. If the text is a part of a longer
// text, it begins at the beginning of a line, and begin is the position of that line. Otherwise, begin is zero.
func NewText(text []byte, begin Position) *Text {
	begin.Line = max(begin.Line, 1)
	return &Text{bytes: utf8Text(text), begin: begin}
}

// Bytes returns the text in UTF-8.
func (t *Text) Bytes() []byte { return t.bytes }

// Position returns the position of a byte. It is zero for a nil Text.
func (t *Text) Position(offset int) Position {
	if t == nil {
		return Position{}
	}
	t.once.Do(func() {
		if json := skipSpace(t.bytes, 0); json < len(t.bytes) && t.bytes[json] == '{' {
			t.index.lines = lineFeedStarts(t.bytes)
		} else {
			t.index.lines = lineStarts(t.bytes)
		}
		t.index.count(t.bytes)
	})
	p := t.index.position(t.bytes, uint32(max(0, min(offset, len(t.bytes)))))
	p.Line += t.begin.Line - 1
	p.Offset += t.begin.Offset
	return p
}

// Index returns the index in Bytes of a position.
func (t *Text) Index(p Position) int {
	if t == nil {
		return p.Offset
	}
	return p.Offset - t.begin.Offset
}

// position returns the position of an offset in the text of the index.
func (x *textIndex) position(text []byte, offset uint32) Position {
	line := max(1, sort.Search(len(x.lines), func(k int) bool { return x.lines[k] > offset }))
	before := x.codePoints(text, offset) - x.codePoints(text, x.lines[line-1])
	return Position{Line: line, Column: 1 + max(0, before), Offset: int(offset)}
}

// lineFeedStarts returns the offsets of all lines of a text whose lines end with LF only, as all lines of JSON do.
func lineFeedStarts(text []byte) []uint32 {
	lines := make([]uint32, 1, 1+bytes.Count(text, []byte{'\n'}))
	for line := range bytes.Lines(text) {
		if line[len(line)-1] == '\n' {
			lines = append(lines, lines[len(lines)-1]+uint32(len(line)))
		}
	}
	return lines
}
