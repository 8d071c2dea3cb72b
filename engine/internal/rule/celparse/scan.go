package celparse

import "strings"

// kind is the kind of a token: its character, or one of the constants.
type kind byte

const (
	end kind = iota + 128
	identifier
	integer
	text // a string literal, whose value is scanner.str
	isTrue
	isFalse
	null
	in
	or
	and
	equals
	notEquals
	lessEquals
	greaterEquals
)

var words = map[string]kind{"true": isTrue, "false": isFalse, "null": null, "in": in}

// token is a part of the text.
type token struct {
	kind
	start, end int
}

// scanner splits a text into tokens.
type scanner struct {
	text string
	token
	str string // the value of a string literal
}

func (s *scanner) textOf(t token) string { return s.text[t.start:t.end] }

// at returns the byte at an offset, 0 beyond the text.
func (s *scanner) at(i int) byte {
	if i < len(s.text) {
		return s.text[i]
	}
	return 0
}

// advance reads the next token.
func (s *scanner) advance() {
	i := s.end
	for c := s.at(i); c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f'; c = s.at(i) {
		i++
	}
	c := s.at(i)
	s.start, s.end, s.kind = i, i+1, kind(c)
	switch {
	case i >= len(s.text):
		s.kind, s.end = end, i
	case isLetter(c):
		s.word()
	case isDigit(c):
		for isDigit(s.at(s.end)) {
			s.end++
		}
		if isLetter(s.at(s.end)) || s.at(s.end) == '.' && isDigit(s.at(s.end+1)) {
			panic(doubt{})
		}
		s.kind = integer
	case c == '"' || c == '\'':
		s.quoted(false)
	case strings.IndexByte("()[]{}.,?:+-*%", c) >= 0:
	case c == '/' && s.at(i+1) != '/':
	case c == '<':
		s.either("=", lessEquals)
	case c == '>':
		s.either("=", greaterEquals)
	case c == '!':
		s.either("=", notEquals)
	default:
		s.kind = 0
		s.either("=", map[byte]kind{'=': equals}[c])
		s.either("&", map[byte]kind{'&': and}[c])
		s.either("|", map[byte]kind{'|': or}[c])
		if s.kind == 0 {
			panic(doubt{})
		}
	}
}

// either extends a token by its second character, if that follows.
func (s *scanner) either(second string, k kind) {
	if k != 0 && strings.HasPrefix(s.text[s.start+1:], second) {
		s.kind, s.end = k, s.start+2
	}
}

// word reads an identifier, a word of the grammar, or a raw string.
func (s *scanner) word() {
	for isLetter(s.at(s.end)) || isDigit(s.at(s.end)) {
		s.end++
	}
	s.kind = identifier
	word := s.textOf(s.token)
	if k, ok := words[word]; ok {
		s.kind = k
	}
	if c := s.at(s.end); c == '"' || c == '\'' {
		if word != "r" && word != "R" {
			panic(doubt{})
		}
		s.end++
		s.quoted(true)
	}
}

// quoted reads a string literal whose first quote is the last byte of the token.
func (s *scanner) quoted(isRaw bool) {
	quote, first := s.text[s.end-1], s.end
	if two := s.text[first:min(first+2, len(s.text))]; isRaw && two == string([]byte{quote, quote}) {
		s.multiline(two + two[:1])
		return
	}
	var value []byte // nil without escapes
	for from := first; ; s.end++ {
		switch c := s.at(s.end); {
		case c == quote && s.end == first && s.at(first+1) == quote: // perhaps three quotes
			panic(doubt{})
		case c == quote:
			s.end++
			s.kind, s.str = text, string(append(value, s.text[from:s.end-1]...))
			return
		case c == 0 || c == '\n' || c == '\r':
			panic(doubt{})
		case c == '\\' && !isRaw:
			e := strings.IndexByte(escapes, s.at(s.end+1))
			if e < 0 || s.at(s.end+1) == 0 {
				panic(doubt{})
			}
			value = append(append(value, s.text[from:s.end]...), escaped[e])
			s.end++
			from = s.end + 1
		}
	}
}

// multiline reads a raw string literal in three quotes, whose first quote is the last byte of the token. A carriage
// return is a doubt, because cel-go replaces it.
func (s *scanner) multiline(quotes string) {
	value, _, closed := strings.Cut(s.text[s.end+2:], quotes)
	if !closed || strings.Contains(value, "\r") {
		panic(doubt{})
	}
	s.kind, s.str = text, strings.Clone(value)
	s.end += len(quotes) - 1 + len(value) + len(quotes)
}

// escapes are the supported characters after a backslash, and escaped are their meanings.
const (
	escapes = `\'"nrt`
	escaped = "\\'\"\n\r\t"
)

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return false
		}
	}
	return true
}
