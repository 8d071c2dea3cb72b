package gateway

import (
	"bytes"
	"errors"
	"io"
)

// bodyDocuments cuts a body into the documents of a YAML stream, where value.SplitYAML cuts a text that is there as a whole: before lines that begin with ---, behind those
// that begin with three dots. Documents of comments alone are left out. A document is known to have ended when the next one begins, or the body ends.
type bodyDocuments struct {
	lines   *bodyLines
	read    []byte // the line that was read last, to a line feed
	rest    []byte // what of it was not looked at: to YAML, line feeds are not the only ends of lines
	ended   error  // why there are no more
	current piece
	at      piece // where rest begins; its text means nothing

	started, content bool // whether the current document has begun, and whether there is anything in it
}

func newDocuments(l *bodyLines) *bodyDocuments {
	first := piece{line: 1}
	return &bodyDocuments{lines: l, current: first, at: first}
}

func (d *bodyDocuments) ready() bool {
	waiting, _ := d.lines.from.Peek(d.lines.from.Buffered())
	return bytes.Contains(waiting, []byte("\n---")) || bytes.Contains(waiting, []byte("\n..."))
}

func (d *bodyDocuments) next() (piece, error) {
	for {
		line, err := d.line()
		if err != nil {
			last, content := d.current, d.content
			d.current, d.content = piece{}, false
			if content && errors.Is(err, io.EOF) {
				return last, nil
			}
			return piece{}, err
		}
		p, whole := d.add(line)
		if len(d.current.text) > d.lines.most {
			return piece{}, d.lines.tooLong(d.current.line)
		}
		if whole {
			return p, nil
		}
	}
}

// line returns the next line as YAML has it.
func (d *bodyDocuments) line() ([]byte, error) {
	for len(d.rest) == 0 {
		if d.ended != nil {
			return nil, d.ended
		}
		d.read, d.ended = d.lines.read(d.read[:0])
		if d.ended != nil && !errors.Is(d.ended, io.EOF) {
			return nil, d.ended // half a line says nothing, be it three dashes
		}
		d.rest = d.read
		if d.at.offset == 0 && bytes.HasPrefix(d.rest, byteOrderMark) {
			d.current.text = append(d.current.text, byteOrderMark...)
			d.rest, d.at.offset = d.rest[len(byteOrderMark):], int64(len(byteOrderMark))
		}
	}
	size := 0
	for size < len(d.rest) {
		if n := yamlBreak(d.rest[size:]); n > 0 {
			size += n
			break
		}
		size++
	}
	line := d.rest[:size]
	d.rest = d.rest[size:]
	return line, nil
}

// add adds a line to the current document. If it ends the one before, and there is anything in that, it returns it.
func (d *bodyDocuments) add(line []byte) (p piece, whole bool) {
	marker, rest := yamlMarker(line)
	next := piece{line: d.at.line, offset: d.at.offset + int64(len(line))}
	if yamlBreakAtEnd(line) {
		next.line++
	}
	if marker == '.' {
		d.current.text = append(d.current.text, line...)
	}
	if marker == '-' && d.started || marker == '.' {
		if p, whole = d.current, d.content; !whole {
			d.lines.held.give(int64(len(p.text)))
		}
		d.current, d.started, d.content = d.at, false, false
		if marker == '.' {
			d.current = next
		}
	}
	d.at = next
	switch {
	case marker == '.':
		return p, whole
	case marker == '-':
		d.started, d.content = true, yamlContent(rest)
	case yamlContent(line) && (d.started || line[0] != '%'):
		d.started, d.content = true, true
	}
	d.current.text = append(d.current.text, line...)
	return p, whole
}

// yamlMarker recognises --- and ... at the beginning of a line and returns the marker's character and what follows it.
func yamlMarker(line []byte) (marker byte, rest []byte) {
	if !bytes.HasPrefix(line, []byte("---")) && !bytes.HasPrefix(line, []byte("...")) {
		return 0, nil
	}
	rest = line[3:]
	if len(rest) == 0 || rest[0] == ' ' || rest[0] == '\t' || yamlBreak(rest) > 0 {
		return line[0], rest
	}
	return 0, nil
}

// yamlContent says whether there is more on a line than white space and a comment.
func yamlContent(line []byte) bool {
	line = bytes.TrimLeft(line, " \t")
	return len(line) > 0 && line[0] != '#' && yamlBreak(line) == 0
}

// yamlBreaks are the line breaks of YAML 1.1; of one that begins another the longer comes first.
var yamlBreaks = [][]byte{[]byte("\n"), []byte("\r\n"), []byte("\r"), []byte("\u0085"), []byte("\u2028"), []byte("\u2029")}

// yamlBreak is the length of the line break that a text begins with, 0 if it begins with none.
func yamlBreak(text []byte) int {
	if len(text) == 0 || text[0] > '\r' && text[0] < 0xc2 {
		return 0
	}
	for _, b := range yamlBreaks {
		if bytes.HasPrefix(text, b) {
			return len(b)
		}
	}
	return 0
}

func yamlBreakAtEnd(line []byte) bool {
	for _, b := range yamlBreaks {
		if bytes.HasSuffix(line, b) {
			return true
		}
	}
	return false
}
