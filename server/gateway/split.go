package gateway

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc/codes"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// piece is an element of a streamed body: a line of JSON, or a document of YAML.
type piece struct {
	text   []byte
	line   int   // on which text begins, from 1
	offset int64 // of text, in bytes
}

// splitter cuts a body into pieces while it arrives.
type splitter interface {
	// next returns the next piece with content. The error at the end of the body is io.EOF, an error of ours is a status.
	next() (piece, error)
	// ready reports whether next returns a piece without waiting. It may report false although it does.
	ready() bool
}

// lineSplitter cuts a body into its lines. It skips lines of white space.
type lineSplitter struct {
	from *bufio.Reader
	max  int          // bytes of a piece
	held *reservation // of what was read. The caller of next releases that of pieces.
	at   piece        // where the next line begins
}

func newLineSplitter(from io.Reader, max int64, held *reservation) *lineSplitter {
	const readAhead = 64 << 10
	return &lineSplitter{from: bufio.NewReaderSize(from, readAhead), max: int(max), held: held, at: piece{line: 1}}
}

func (l *lineSplitter) ready() bool { return bytes.IndexByte(l.buffered(), '\n') >= 0 }

func (l *lineSplitter) buffered() []byte {
	waiting, _ := l.from.Peek(l.from.Buffered()) // never fails
	return waiting
}

func (l *lineSplitter) next() (piece, error) {
	for {
		p, err := l.read(nil)
		if err != nil && (!errors.Is(err, io.EOF) || len(p.text) == 0) {
			return piece{}, err
		}
		if len(bytes.TrimLeft(p.text, " \t\r\n")) > 0 {
			return p, nil
		}
		l.held.give(int64(len(p.text)))
	}
}

// read appends a line with its line feed to buffer. At the end of the body it returns what there is, and io.EOF.
func (l *lineSplitter) read(buffer []byte) (piece, error) {
	p := l.at
	p.text = buffer
	for {
		part, err := l.from.ReadSlice('\n')
		if len(p.text)+len(part) > l.max {
			return piece{}, l.tooLong(p.line)
		}
		if err := l.held.take(int64(len(part))); err != nil {
			return piece{}, err
		}
		p.text = append(p.text, part...)
		l.at.offset += int64(len(part))
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err == nil {
			l.at.line++
		}
		return p, err
	}
}

func (l *lineSplitter) tooLong(line int) error {
	return failure(codes.ResourceExhausted, crdevalv1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED,
		fmt.Sprintf("line %d: what begins here has more bytes than the limit max_message_bytes, which is %d", line, l.max),
		map[string]string{"limit": "max_message_bytes", "maximum": fmt.Sprint(l.max), "line": fmt.Sprint(line)})
}

// documentSplitter cuts a body into YAML documents: before lines that begin with ---, and after lines that begin with three dots. It skips
// documents that have only comments. Lines end with a line feed.
type documentSplitter struct {
	lines            *lineSplitter
	buffer           []byte
	current          piece
	started, content bool // whether the current document has begun, and whether it has content
}

func newDocumentSplitter(l *lineSplitter) *documentSplitter {
	return &documentSplitter{lines: l, current: l.at}
}

func (d *documentSplitter) ready() bool {
	waiting := d.lines.buffered()
	return bytes.Contains(waiting, []byte("\n---")) || bytes.Contains(waiting, []byte("\n..."))
}

func (d *documentSplitter) next() (piece, error) {
	for {
		line, err := d.lines.read(d.buffer[:0])
		if err != nil && !errors.Is(err, io.EOF) {
			return piece{}, err
		}
		d.buffer = line.text
		ended, ok := d.add(line)
		switch {
		case len(d.current.text) > d.lines.max:
			return piece{}, d.lines.tooLong(d.current.line)
		case ok:
			return ended, nil
		case err == nil:
			continue
		}
		if ended, ok = d.end(d.lines.at); ok {
			return ended, nil
		}
		return piece{}, io.EOF
	}
}

// add adds a line to the current document. It returns the document that the line ends.
func (d *documentSplitter) add(line piece) (ended piece, ok bool) {
	text := line.text
	if line.offset == 0 {
		text = bytes.TrimPrefix(text, byteOrderMark)
	}
	switch rest, marker := yamlMarker(text); marker {
	case '-':
		if d.started {
			ended, ok = d.end(line)
		}
		d.started, d.content = true, hasYAMLContent(rest)
	case '.':
		d.current.text = append(d.current.text, line.text...)
		return d.end(d.lines.at)
	default:
		if hasYAMLContent(text) && (d.started || text[0] != '%') {
			d.started, d.content = true, true
		}
	}
	d.current.text = append(d.current.text, line.text...)
	return ended, ok
}

// end ends the current document. The next one begins at next.
func (d *documentSplitter) end(next piece) (ended piece, ok bool) {
	ended, ok = d.current, d.content
	if !ok {
		d.lines.held.give(int64(len(ended.text)))
	}
	d.current, d.started, d.content = piece{line: next.line, offset: next.offset}, false, false
	return ended, ok
}

// yamlMarker returns the character of a --- or ... that begins a line, and what follows it; 0 if there is none.
func yamlMarker(line []byte) (rest []byte, marker byte) {
	if !bytes.HasPrefix(line, []byte("---")) && !bytes.HasPrefix(line, []byte("...")) {
		return nil, 0
	}
	if rest = line[3:]; len(rest) > 0 && bytes.IndexByte([]byte(" \t\r\n"), rest[0]) < 0 {
		return nil, 0
	}
	return rest, line[0]
}

// hasYAMLContent reports whether a line has more than white space and a comment.
func hasYAMLContent(line []byte) bool {
	line = bytes.TrimLeft(line, " \t\r\n")
	return len(line) > 0 && line[0] != '#'
}
