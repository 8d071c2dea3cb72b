package gateway

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"

	"github.com/crdeval/crdeval/engine/document"
	"github.com/crdeval/crdeval/server/api"
)

// piece is an element of a streamed body: a line of JSON, or a document of YAML.
type piece struct {
	text   []byte
	line   int   // on which text begins, from 1
	offset int64 // of text, in bytes
}

// splitter cuts a body into pieces as it arrives: JSON into lines, YAML into documents, at each line that begins with
// ---. Package workspace reads the pieces of YAML. Lines end with a line feed. It skips lines of white space, and
// documents that have only comments.
type splitter struct {
	from             *bufio.Reader
	max              int          // bytes of a piece
	held             *reservation // of what was read. The caller of next releases that of pieces.
	yaml             bool
	at               piece // where the next line begins
	current          piece
	started, content bool // whether the current piece has a line, and whether it has content
}

func newSplitter(from io.Reader, max int64, held *reservation, yaml bool) *splitter {
	const readAhead = 64 << 10
	return &splitter{
		from: bufio.NewReaderSize(from, readAhead), max: int(max), held: held, yaml: yaml, at: piece{line: 1}, current: piece{line: 1},
	}
}

// ready reports whether next returns a piece without waiting. It may report false although it does.
func (s *splitter) ready() bool {
	waiting, _ := s.from.Peek(s.from.Buffered()) // never fails
	if !s.yaml {
		return bytes.IndexByte(waiting, '\n') >= 0
	}
	return bytes.Contains(waiting, []byte("\n---"))
}

// next returns the next piece with content. The error at the end of the body is io.EOF, an error of ours is a status.
func (s *splitter) next() (piece, error) {
	for {
		start := s.at
		line, err := s.readLine()
		if err != nil && !errors.Is(err, io.EOF) {
			return piece{}, err
		}
		ended, ok := s.add(start, line)
		if len(s.current.text) > s.max {
			return piece{}, s.tooLong(s.current.line)
		}
		if err != nil && !ok {
			ended, ok = s.end(s.at)
		}
		switch {
		case ok:
			return ended, nil
		case err != nil:
			return piece{}, err
		}
	}
}

// readLine appends a line with its line feed to the current piece. At the end it returns the rest and io.EOF.
func (s *splitter) readLine() (line []byte, err error) {
	begin, first := len(s.current.text), s.at.line
	for {
		part, err := s.from.ReadSlice('\n')
		if len(s.current.text)-begin+len(part) > s.max {
			return nil, s.tooLong(first)
		}
		if err := s.held.take(int64(len(part))); err != nil {
			return nil, err
		}
		s.current.text = append(s.current.text, part...)
		s.at.offset += int64(len(part))
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err == nil {
			s.at.line++
		}
		return s.current.text[begin:], err
	}
}

// add classifies line, the last line of the current piece, which begins at start. It returns the piece that line ends.
func (s *splitter) add(start piece, line []byte) (ended piece, ok bool) {
	if !s.yaml {
		s.content = len(bytes.TrimLeft(line, " \t\r\n")) > 0
		return s.end(s.at)
	}
	switch rest, separates := bytes.CutPrefix(line, []byte("---")); {
	case separates && s.started:
		s.current.text = s.current.text[:len(s.current.text)-len(line)]
		ended, ok = s.end(start)
		if !document.HasContent(rest) { // the document begins after the line
			s.held.give(int64(len(line)))
			s.current.line, s.current.offset = s.at.line, s.at.offset
			return ended, ok
		}
		s.current.text, s.content = bytes.Clone(line), true
	case separates:
		s.content = document.HasContent(rest)
	case !s.content && isEnd(line): // not before an object, but at the end nothing is wrong with it
		s.held.give(int64(len(s.current.text) - len(line)))
		s.current = piece{text: bytes.Clone(line), line: start.line, offset: start.offset}
	default:
		s.content = s.content || document.HasContentIn(line)
	}
	s.started = true
	return ended, ok
}

// isEnd reports whether a line ends a YAML document.
func isEnd(line []byte) bool {
	marker, _ := document.DocumentMarker(line)
	return marker == '.'
}

// end ends the current piece. The next one begins at next.
func (s *splitter) end(next piece) (ended piece, ok bool) {
	ended, ok = s.current, s.content
	if !ok {
		s.held.give(int64(len(ended.text)))
	}
	s.current, s.started, s.content = piece{line: next.line, offset: next.offset}, false, false
	return ended, ok
}

func (s *splitter) tooLong(line int) error {
	err := api.LimitExceeded("max_message_bytes", s.max,
		"line %d: the line or document has more bytes than the limit max_message_bytes, which is %d", line, s.max)
	err.Metadata["line"] = strconv.Itoa(line)
	return err
}
