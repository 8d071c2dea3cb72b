package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// A bodyError says where a body is not the JSON of its message.
type bodyError struct {
	body   []byte
	offset int
	path   string
	text   string
}

// Error gives line, column, path and what is wrong.
func (e *bodyError) Error() string {
	before := e.body[:min(e.offset, len(e.body))]
	line := 1 + bytes.Count(before, []byte{'\n'})
	column := 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	if e.path == "" {
		return fmt.Sprintf("the body, line %d, column %d: %s", line, column, e.text)
	}
	return fmt.Sprintf("the body, line %d, column %d: %s: %s", line, column, e.path, e.text)
}

var errEmptyBody = errors.New("the body is empty: send the JSON or YAML of the request")

// scanner reads JSON structure off a body without copying.
type scanner struct {
	src []byte
	pos int
}

// space skips white space.
func (s *scanner) space() {
	for s.pos < len(s.src) {
		switch s.src[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

// peek skips white space and returns the next byte, 0 at the end.
func (s *scanner) peek() byte {
	s.space()
	if s.pos < len(s.src) {
		return s.src[s.pos]
	}
	return 0
}

// significant marks the bytes at which skipping a container has to look: quotes and brackets.
var significant = [256]bool{'"': true, '{': true, '}': true, '[': true, ']': true}

// value skips one value and returns its text. It finds the end and checks no more: a document is judged by whoever parses it,
// and what is wrong inside of it is that document's matter and not the body's.
func (s *scanner) value() ([]byte, error) {
	switch c := s.peek(); c {
	case 0:
		return nil, s.fail("the text ends where a value is expected")
	case '"':
		start := s.pos
		if err := s.skipString(); err != nil {
			return nil, err
		}
		return s.src[start:s.pos], nil
	case '{', '[':
		return s.container()
	case ',', ':', '}', ']':
		return nil, s.fail("a value is expected, not %q", c)
	default:
		start := s.pos
		for s.pos < len(s.src) && !delimits(s.src[s.pos]) {
			s.pos++
		}
		return s.src[start:s.pos], nil
	}
}

func delimits(c byte) bool {
	switch c {
	case ',', ':', ']', '}', '[', '{', '"', ' ', '\t', '\n', '\r':
		return true
	}
	return false
}

func (s *scanner) container() ([]byte, error) {
	start, depth, src := s.pos, 0, s.src
	for s.pos < len(src) {
		if !significant[src[s.pos]] {
			s.pos++
			continue
		}
		switch src[s.pos] {
		case '"':
			if err := s.skipString(); err != nil {
				return nil, err
			}
			continue
		case '{', '[':
			depth++
		default:
			depth--
		}
		s.pos++
		if depth == 0 {
			return src[start:s.pos], nil
		}
	}
	return nil, s.fail("the text ends inside of a value that begins at byte %d", start)
}

// skipString skips a string whose opening quote is next.
func (s *scanner) skipString() error {
	start := s.pos
	for i := s.pos + 1; ; {
		n := bytes.IndexByte(s.src[min(i, len(s.src)):], '"')
		if n < 0 {
			s.pos = len(s.src)
			return s.fail("the text ends inside of a string that begins at byte %d", start)
		}
		i += n
		backslashes := 0
		for s.src[i-1-backslashes] == '\\' {
			backslashes++
		}
		i++
		if backslashes%2 == 0 {
			s.pos = i
			return nil
		}
	}
}

// string reads a string.
func (s *scanner) string() (string, error) {
	if s.peek() != '"' {
		return "", s.fail("a string is expected")
	}
	start := s.pos
	if err := s.skipString(); err != nil {
		return "", err
	}
	raw := s.src[start+1 : s.pos-1]
	plain := true
	for _, c := range raw {
		if c < ' ' || c == '\\' {
			plain = false
			break
		}
	}
	if !utf8.Valid(raw) {
		s.pos = start
		return "", s.fail("the string is not UTF-8")
	}
	if plain {
		return string(raw), nil
	}
	var text string
	if err := json.Unmarshal(s.src[start:s.pos], &text); err != nil {
		s.pos = start
		return "", s.fail("%v", err)
	}
	return text, nil
}

// end demands that nothing but white space is left.
func (s *scanner) end() error {
	if s.peek() != 0 || s.pos < len(s.src) {
		return s.fail("there is something after the value: a body is one value")
	}
	return nil
}

func (s *scanner) fail(format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	if s.pos >= len(s.src) {
		text += " (the body ends here)"
	}
	return &bodyError{body: s.src, offset: s.pos, text: text}
}
