package gateway

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/document"
)

// A bodyError says where a body is not the JSON of its message.
type bodyError struct {
	body     []byte
	offset   int
	path     string
	pointer  string // to the path and the member
	member   string // the key of the member of the object at the path that is wrong
	isMember bool   // false: the value at the path is wrong
	kind     string // the type of the violation, "" for a value that is not what it should be
	text     string
}

// Error returns line, column, path and what is wrong.
func (e *bodyError) Error() string {
	text := e.text
	if e.path != "" {
		text = e.path + ": " + text
	}
	return atPosition(e.position(), text)
}

// atPosition returns an error text with a position in the body.
func atPosition(p document.Position, text string) string {
	if p.Line == 0 {
		return "the body: " + text
	}
	return fmt.Sprintf("the body, line %d, column %d: %s", p.Line, p.Column, text)
}

func (e *bodyError) position() document.Position {
	return document.NewText(e.body, document.Position{}).Position(e.offset)
}

// violation returns the error as a violation.
func (e *bodyError) violation() engine.Violation {
	at := e.position()
	field := e.path
	if e.isMember {
		field = strings.TrimPrefix(field+"."+e.member, ".")
	}
	return engine.Violation{
		Type: cmp.Or(e.kind, engine.TypeDecode), Field: field, Pointer: e.pointer, Message: e.text, Detail: e.text, Position: &at,
		Step: engine.StepDecode,
	}
}

// findSyntax makes the error one about the syntax of the JSON, if that is wrong at an earlier place. The end of a value is
// found by its brackets alone.
func (e *bodyError) findSyntax() {
	var none struct{}
	syntax, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(e.body, &none))
	if !ok {
		return
	}
	e.kind = engine.TypeSyntax
	if syntax.Error() == "unexpected end of JSON input" {
		return // e says which value does not end
	}
	if at := int(syntax.Offset) - 1; at < e.offset && len(bytes.TrimSpace(e.body[:max(at, 0)])) > 0 {
		e.offset, e.text = at, "invalid JSON: "+syntax.Error()
		e.path, e.pointer, e.member, e.isMember = "", "", "", false
	}
}

var errEmptyBody = errors.New("the body is empty: send the JSON or YAML of the request")

// scanner reads the structure of JSON without copying.
type scanner struct {
	src []byte
	pos int
}

// start checks what comes before the first value.
func (s *scanner) start() error {
	if bytes.HasPrefix(s.src, byteOrderMark) {
		return s.fail("there is a byte order mark before the JSON: send the body without it")
	}
	if s.space(); s.pos == len(s.src) {
		return errEmptyBody
	}
	return nil
}

var byteOrderMark = []byte("\ufeff")

// end checks that nothing but white space is left.
func (s *scanner) end() error {
	if s.space(); s.pos < len(s.src) {
		return s.fail("there is something after the value: a body is one value")
	}
	return nil
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

// significant marks the bytes that matter for finding the end of a container.
var significant = [256]bool{'"': true, '{': true, '}': true, '[': true, ']': true}

// value skips a value and returns its text. It only finds the end: errors in a document are not errors of the body.
func (s *scanner) value() ([]byte, error) {
	c := s.peek()
	start := s.pos
	switch c {
	case 0:
		return nil, s.fail("the text ends where a value is expected")
	case '"':
		err := s.skipString()
		return s.src[start:s.pos], err
	case '{', '[':
		return s.container()
	case ',', ':', '}', ']':
		return nil, s.fail("a value is expected, not %q", c)
	}
	if n := bytes.IndexAny(s.src[start:], ",:]}[{\" \t\r\n"); n >= 0 {
		s.pos += n
	} else {
		s.pos = len(s.src)
	}
	return s.src[start:s.pos], nil
}

func (s *scanner) container() ([]byte, error) {
	const ones = 0x0101010101010101
	start, depth, src := s.pos, 0, s.src
	for i := start; i < len(src); i++ {
		switch c := src[i]; {
		case !significant[c]:
		case c == '"':
			open := i
			// Most strings are short and end at the first quote, which needs no call.
			for i++; len(src)-i >= 8; i += 8 {
				x := binary.LittleEndian.Uint64(src[i:]) ^ '"'*ones
				if x = (x - ones) &^ x & (ones << 7); x != 0 {
					i += bits.TrailingZeros64(x) >> 3
					break
				}
			}
			if i < len(src) && src[i] == '"' && src[i-1] != '\\' {
				continue
			}
			s.pos = open
			if err := s.skipString(); err != nil {
				return nil, err
			}
			i = s.pos - 1
		case c == '{' || c == '[':
			depth++
		default:
			if depth--; depth == 0 {
				s.pos = i + 1
				return src[start:s.pos], nil
			}
		}
	}
	s.pos = len(src)
	return nil, s.fail("the text ends inside of a value that begins at byte %d", start)
}

// skipString skips a string whose opening quote is next.
func (s *scanner) skipString() error {
	start := s.pos
	for i := start + 1; ; {
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

// string reads a string. What it returns may be a part of the source.
func (s *scanner) string() ([]byte, error) {
	if s.peek() != '"' {
		return nil, s.fail("a string is expected")
	}
	start := s.pos
	if err := s.skipString(); err != nil {
		return nil, err
	}
	raw := s.src[start+1 : s.pos-1]
	if !utf8.Valid(raw) {
		s.pos = start
		return nil, s.fail("the string is not UTF-8")
	}
	if !slices.ContainsFunc(raw, func(c byte) bool { return c < ' ' || c == '\\' }) {
		return raw, nil
	}
	var text string
	if err := json.Unmarshal(s.src[start:s.pos], &text); err != nil {
		s.pos = start
		return nil, s.fail("%v", err)
	}
	return []byte(text), nil
}

// elements calls f, which reads a value, for each value of the container here. what names the container in errors.
func (s *scanner) elements(open, closing byte, what string, f func(i int) error) error {
	if s.peek() != open {
		return s.fail("%s is expected", what)
	}
	s.pos++
	if s.peek() == closing {
		s.pos++
		return nil
	}
	for i := 0; ; i++ {
		s.space()
		if err := f(i); err != nil {
			return err
		}
		switch s.peek() {
		case ',':
			s.pos++
		case closing:
			s.pos++
			return nil
		default:
			return s.fail("a comma or a closing %s is expected", map[byte]string{'}': "brace", ']': "bracket"}[closing])
		}
	}
}

// members returns the values of the wanted members of an object, up to the first error. It does not keep the others: an
// object can have millions.
func (s *scanner) members(wanted ...string) (found map[string][]byte, err error) {
	found = map[string][]byte{}
	err = s.elements('{', '}', "an object", func(int) error {
		name, err := s.key()
		if err == nil {
			s.space()
			var v []byte
			if v, err = s.value(); slices.Contains(wanted, string(name)) {
				found[string(name)] = v
			}
		}
		return err
	})
	return found, err
}

// key reads the key of a member and the colon after it.
func (s *scanner) key() ([]byte, error) {
	name, err := s.string()
	if err == nil && s.peek() != ':' {
		err = s.fail("a colon is expected after %q", name)
	}
	s.pos++
	return name, err
}

func (s *scanner) fail(format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	if s.pos >= len(s.src) {
		text += " (the body ends here)"
	}
	return &bodyError{body: s.src, offset: s.pos, text: text}
}

// isNumber reports whether text is a number of JSON, which 030, .5, 3. and 0x1E are not.
func isNumber(text string) bool {
	return text != "" && strings.IndexByte("-0123456789", text[0]) >= 0 && json.Valid([]byte(text))
}
