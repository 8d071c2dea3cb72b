package lsp

import (
	"bytes"
	"sort"
	"unicode/utf8"
)

// lineIndex maps offsets of a text to positions of the protocol: lines from 0, and columns in UTF-16 code units. Lines
// end with \n, \r\n or \r, as in the protocol.
type lineIndex struct {
	text  []byte
	begin []int // offsets of lines
}

func newLineIndex(text []byte) *lineIndex {
	l := &lineIndex{text: text, begin: make([]int, 1, 1+bytes.Count(text, []byte{'\n'}))}
	for i, c := range text {
		if c == '\n' || c == '\r' && (i+1 == len(text) || text[i+1] != '\n') {
			l.begin = append(l.begin, i+1)
		}
	}
	return l
}

// position returns the position of an offset. An offset outside of the text is moved to its nearest end.
func (l *lineIndex) position(offset int) Position {
	offset = min(max(offset, 0), len(l.text))
	line := sort.SearchInts(l.begin, offset+1) - 1
	column := 0
	for at := l.begin[line]; at < offset; {
		r, size := utf8.DecodeRune(l.text[at:])
		if at += size; at > offset {
			break // inside a character
		}
		column += units(r)
	}
	return Position{Line: uint32(line), Character: uint32(column)}
}

// units returns the number of UTF-16 code units of a character.
func units(r rune) int {
	if r > 0xFFFF {
		return 2
	}
	return 1
}

// offset returns the offset of a position. A column after the end of the line is moved to the end, and one inside a
// character to its begin.
func (l *lineIndex) offset(p Position) int {
	if int64(p.Line) >= int64(len(l.begin)) {
		return len(l.text)
	}
	at, end := l.begin[p.Line], len(l.text)
	if int(p.Line)+1 < len(l.begin) {
		end = l.begin[p.Line+1]
	}
	for end > at && (l.text[end-1] == '\n' || l.text[end-1] == '\r') {
		end--
	}
	for column := 0; at < end; {
		r, size := utf8.DecodeRune(l.text[at:])
		if column += units(r); column > int(min(p.Character, 1<<30)) {
			break
		}
		at += size
	}
	return at
}

// rangeOf returns the range of two offsets.
func (l *lineIndex) rangeOf(begin, end int) Range {
	return Range{l.position(begin), l.position(max(begin, end))}
}

// apply returns the text with changes. Each change refers to the text after those before it.
func apply(text []byte, changes []ContentChange) []byte {
	for _, c := range changes {
		if c.Range == nil {
			text = []byte(c.Text)
			continue
		}
		lines := newLineIndex(text)
		begin, end := lines.offset(c.Range.Start), lines.offset(c.Range.End)
		if end < begin {
			begin, end = end, begin
		}
		next := make([]byte, 0, len(text)+len(c.Text))
		next = append(append(append(next, text[:begin]...), c.Text...), text[end:]...)
		text = next
	}
	return text
}
