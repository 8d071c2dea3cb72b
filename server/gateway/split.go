package gateway

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"

	"github.com/crdeval/crdeval/server/api"
)

// piece is an element of a streamed body: a line of JSON, or a document of YAML.
type piece struct {
	text   []byte
	line   int   // on which text begins, from 1
	offset int64 // of text, in bytes
}

// splitter cuts a body into pieces as it arrives: JSON into lines, without those of white space, and YAML before each line
// that begins with ---. Package workspace reads the pieces of YAML as it reads a file. Lines end with a line feed.
type splitter struct {
	from    *bufio.Reader
	max     int        // bytes of a piece
	memory  bodyMemory // of what was read. The caller of next releases that of pieces.
	yaml    bool
	at      piece // where the next line begins
	current piece
}

func newSplitter(from io.Reader, max int64, memory bodyMemory, yaml bool) *splitter {
	const readAhead = 64 << 10
	return &splitter{
		from: bufio.NewReaderSize(from, readAhead), max: int(max), memory: memory, yaml: yaml, at: piece{line: 1}, current: piece{line: 1},
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

// next returns the next piece, which may have only comments if it is YAML. The error at the end of the body is io.EOF, an error of ours is a status.
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
		switch {
		case ok:
			return ended, nil
		case err != nil && len(s.current.text) > 0:
			return s.end(s.at), nil
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
		if err := s.memory.take(int64(len(part))); err != nil {
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

// add adds a line, which begins at start and is the end of the current piece. It returns the piece that the line ends.
func (s *splitter) add(start piece, line []byte) (ended piece, ok bool) {
	if !s.yaml {
		if len(bytes.TrimLeft(line, " \t\r\n")) == 0 {
			s.memory.give(int64(len(line)))
			s.begin(s.at)
			return piece{}, false
		}
		return s.end(s.at), true
	}
	rest, separates := bytes.CutPrefix(line, []byte("---"))
	if before := len(s.current.text) - len(line); separates && before > 0 {
		line = bytes.Clone(line)
		s.current.text = s.current.text[:before]
		if rest = bytes.TrimSpace(rest); len(rest) > 0 && rest[0] != '#' { // workspace reports what is wrong with it
			ended = s.end(start)
			s.current.text = line
			return ended, true
		}
		s.memory.give(int64(len(line)))
		return s.end(s.at), true
	}
	return piece{}, false
}

// end ends the current piece. The next one begins at next.
func (s *splitter) end(next piece) (ended piece) {
	ended = s.current
	s.begin(next)
	return ended
}

// begin begins a piece.
func (s *splitter) begin(at piece) { s.current = piece{line: at.line, offset: at.offset} }

func (s *splitter) tooLong(line int) error {
	err := api.LimitExceeded("max_message_bytes", s.max,
		"line %d: the line or document has more bytes than the limit max_message_bytes, which is %d", line, s.max)
	err.Metadata["line"] = strconv.Itoa(line)
	return err
}
