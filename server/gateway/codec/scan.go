package codec

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Scanner reads the structure of JSON without copying. Its errors are an *Error or ErrEmpty.
type Scanner struct {
	JSON []byte
	Pos  int // the offset of what is read next
}

// Start checks what comes before the first value.
func (s *Scanner) Start() error {
	if bytes.HasPrefix(s.JSON, byteOrderMark) {
		return s.Fail("there is a byte order mark before the JSON: send the body without it")
	}
	if s.Space(); s.Pos == len(s.JSON) {
		return ErrEmpty
	}
	return nil
}

var byteOrderMark = []byte("\ufeff")

// End checks that nothing but white space is left.
func (s *Scanner) End() error {
	if s.Space(); s.Pos < len(s.JSON) {
		return s.Fail("there is something after the value: a body is one value")
	}
	return nil
}

// Space skips white space.
func (s *Scanner) Space() {
	for s.Pos < len(s.JSON) {
		switch s.JSON[s.Pos] {
		case ' ', '\t', '\n', '\r':
			s.Pos++
		default:
			return
		}
	}
}

// Peek skips white space and returns the next byte, 0 at the end.
func (s *Scanner) Peek() byte {
	s.Space()
	if s.Pos < len(s.JSON) {
		return s.JSON[s.Pos]
	}
	return 0
}

// significant marks the bytes that matter for finding the end of a container.
var significant = [256]bool{'"': true, '{': true, '}': true, '[': true, ']': true}

// Value skips a value and returns its text. It only finds the end: errors in a document are not errors of the body.
func (s *Scanner) Value() ([]byte, error) {
	c := s.Peek()
	start := s.Pos
	switch c {
	case 0:
		return nil, s.Fail("the text ends where a value is expected")
	case '"':
		err := s.skipString()
		return s.JSON[start:s.Pos], err
	case '{', '[':
		return s.container()
	case ',', ':', '}', ']':
		return nil, s.Fail("a value is expected, not %q", c)
	}
	if n := bytes.IndexAny(s.JSON[start:], ",:]}[{\" \t\r\n"); n >= 0 {
		s.Pos += n
	} else {
		s.Pos = len(s.JSON)
	}
	return s.JSON[start:s.Pos], nil
}

func (s *Scanner) container() ([]byte, error) {
	const ones = 0x0101010101010101
	start, depth, src := s.Pos, 0, s.JSON
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
			s.Pos = open
			if err := s.skipString(); err != nil {
				return nil, err
			}
			i = s.Pos - 1
		case c == '{' || c == '[':
			depth++
		default:
			if depth--; depth == 0 {
				s.Pos = i + 1
				return src[start:s.Pos], nil
			}
		}
	}
	s.Pos = len(src)
	return nil, s.Fail("the text ends inside of a value that begins at byte %d", start)
}

// skipString skips a string whose opening quote is next.
func (s *Scanner) skipString() error {
	start := s.Pos
	for i := start + 1; ; {
		n := bytes.IndexByte(s.JSON[min(i, len(s.JSON)):], '"')
		if n < 0 {
			s.Pos = len(s.JSON)
			return s.Fail("the text ends inside of a string that begins at byte %d", start)
		}
		i += n
		backslashes := 0
		for s.JSON[i-1-backslashes] == '\\' {
			backslashes++
		}
		i++
		if backslashes%2 == 0 {
			s.Pos = i
			return nil
		}
	}
}

// Text reads a string. What it returns may be a part of the source.
func (s *Scanner) Text() ([]byte, error) {
	if s.Peek() != '"' {
		return nil, s.Fail("a string is expected")
	}
	start := s.Pos
	if err := s.skipString(); err != nil {
		return nil, err
	}
	raw := s.JSON[start+1 : s.Pos-1]
	if !utf8.Valid(raw) {
		s.Pos = start
		return nil, s.Fail("the string is not UTF-8")
	}
	if !slices.ContainsFunc(raw, func(c byte) bool { return c < ' ' || c == '\\' }) {
		return raw, nil
	}
	var text string
	if err := json.Unmarshal(s.JSON[start:s.Pos], &text); err != nil {
		s.Pos = start
		return nil, s.Fail("%v", err)
	}
	return []byte(text), nil
}

// Elements calls f, which reads a value, for each value of the container here. what names the container in errors.
func (s *Scanner) Elements(open, closing byte, what string, f func(i int) error) error {
	if s.Peek() != open {
		return s.Fail("%s is expected", what)
	}
	s.Pos++
	if s.Peek() == closing {
		s.Pos++
		return nil
	}
	for i := 0; ; i++ {
		s.Space()
		if err := f(i); err != nil {
			return err
		}
		switch s.Peek() {
		case ',':
			s.Pos++
		case closing:
			s.Pos++
			return nil
		default:
			return s.Fail("a comma or a closing %s is expected", map[byte]string{'}': "brace", ']': "bracket"}[closing])
		}
	}
}

// Members returns the values of the wanted members of an object, up to the first error. It does not keep the others: an
// object can have millions.
func (s *Scanner) Members(wanted ...string) (found map[string][]byte, err error) {
	found = map[string][]byte{}
	err = s.Elements('{', '}', "an object", func(int) error {
		name, err := s.Key()
		if err == nil {
			s.Space()
			var v []byte
			if v, err = s.Value(); slices.Contains(wanted, string(name)) {
				found[string(name)] = v
			}
		}
		return err
	})
	return found, err
}

// Key reads the key of a member and the colon after it.
func (s *Scanner) Key() ([]byte, error) {
	name, err := s.Text()
	if err == nil && s.Peek() != ':' {
		err = s.Fail("a colon is expected after %q", name)
	}
	s.Pos++
	return name, err
}

// Fail returns an *Error about what is read next.
func (s *Scanner) Fail(format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	if s.Pos >= len(s.JSON) {
		text += " (the body ends here)"
	}
	return &Error{Body: s.JSON, Offset: s.Pos, Text: text}
}

// isNumber reports whether text is a number of JSON, which 030, .5, 3. and 0x1E are not.
func isNumber(text string) bool {
	return text != "" && strings.IndexByte("-0123456789", text[0]) >= 0 && json.Valid([]byte(text))
}
