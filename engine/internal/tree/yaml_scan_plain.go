package tree

import (
	"encoding/binary"
	"math/bits"
)

// notPlain has the bytes that cannot begin a plain scalar. A dash and a colon can, if no white space follows.
var notPlain = func() (table [256]bool) {
	for _, c := range " \t\n-?:,[]{}#&*!|>'\"%@`" {
		table[c] = true
	}
	return table
}()

// plainLine returns the end of the plain scalar at i, or of its part in the line of i. next is the index of what ends
// it: a colon before white space, a number sign after a space, a line feed, or the end of the text. special is set if there
// are quotes or backslashes. On a doubt, the results are i and the length of the text.
func (s *yamlScanner) plainLine(i int) (to, next int, special bool) {
	if c := s.text[i]; notPlain[c] && (c != '-' && c != ':' || i+1 == len(s.text) || s.text[i+1] <= ' ') {
		return i, len(s.text), false
	}
	return s.plainPart(i)
}

// plainPart is plainLine for any first byte.
func (s *yamlScanner) plainPart(i int) (to, next int, special bool) {
	text, from := s.text, i
	var size int
scan:
	for ; ; i += size {
		if i = plainStop(text, i); i >= len(text) {
			break
		}
		size = 1
		switch text[i] {
		case '\n':
			break scan
		case ':':
			if i+1 == len(text) || text[i+1] <= ' ' {
				break scan
			}
		case '#':
			if text[i-1] == ' ' {
				break scan
			}
		case '"', '\\':
			special = true
		default:
			if size = s.printable(i); size == 0 {
				return from, len(text), false
			}
		}
	}
	for to = i; to > from && text[to-1] == ' '; {
		to--
	}
	return to, i, special
}

// plainStop returns the index of the first byte at or after i that may end plain text, may need an escape or is not
// printable ASCII, or the length of the text. It checks eight bytes at a time.
func plainStop(text []byte, i int) int {
	for len(text)-i >= 8 {
		x := binary.LittleEndian.Uint64(text[i:])
		// x^2 moves the quote and the number sign to ' ' and '!', after the control characters. Only the lowest set bit
		// is exact.
		m := ((x ^ ones*2) - ones*('!'+1)) | ((x ^ ones*'\\') - ones) | ((x ^ ones*':') - ones) | (x + ones) | x
		if m &= highs; m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
		i += 8
	}
	for i < len(text) {
		if c := text[i]; c < ' ' || c == '"' || c == '\\' || c == ':' || c == '#' || c >= 0x7f {
			return i
		}
		i++
	}
	return i
}

// plainKey reports whether text[from:to] is a key whose colon is at an index. Keys that are not strings in YAML are
// doubts, except for decimal integers.
func (s *yamlScanner) plainKey(from, to, colon int) bool {
	if to != colon || to == from {
		return false
	}
	text := s.text[from:to]
	switch resolveHint[text[0]] {
	case isString:
		return len(text) != 2 || string(text) != "<<"
	case isWord:
		return word(text) == String
	}
	_, ok := decimal(text)
	return ok || s.resolve(text) == String
}

// readKey returns the content of the key at i, plain or quoted, and the index of its colon, which is 0 if there is no
// key. special is set if the key may need escapes.
func (s *yamlScanner) readKey() (from, to, colon int, special bool) {
	from = s.i
	if c := s.text[from]; c == '"' || c == '\'' {
		if to, special = s.quotedKey(c); to > 0 && s.colon(to+1) {
			colon = to + 1
		}
		return from + 1, to, colon, special
	}
	to, next, special := s.plainLine(from)
	if next < len(s.text) && s.text[next] == ':' && s.plainKey(from, to, next) {
		colon = next
	}
	return from, to, colon, special
}

// wordKey reports whether a plain key that begins with a letter and needs no further checks is at i, and returns its
// end. Most keys are of this kind. For other text, it returns where plainStop stops.
func (s *yamlScanner) wordKey() (end int, ok bool) {
	text, begin := s.text, s.i
	c := text[begin]
	end = plainStop(text, begin)
	if !letter(c) || len(text)-end < 2 || text[end] != ':' || text[end+1] != ' ' && text[end+1] != '\n' || text[end-1] == ' ' {
		return end, false
	}
	return end, resolveHint[c] != isWord || word(text[begin:end]) == String
}

func letter(c byte) bool { return c|0x20-'a' < 26 }

// wordValue sets a value to a plain scalar without escapes that takes the rest of its line, and goes to the next line.
// plainStop stops at i. It returns false, and does nothing, if the scalar is of another kind, or if the next
// line may belong to it.
func (s *yamlScanner) wordValue(begin, i int) bool {
	text, first := s.text, s.text[begin]
	if notPlain[first] {
		return false
	}
	for i < len(text) && text[i] != '\n' {
		size := 1
		switch c := text[i]; {
		case c == ':' && i+1 < len(text) && text[i+1] > ' ', c == '#' && text[i-1] != ' ':
		case c >= 0x7f:
			if size = s.printable(i); size == 0 {
				return false
			}
		default:
			return false
		}
		i = plainStop(text, i+size)
	}
	next := spaces(text, min(i+1, len(text)))
	column := next - i - 1
	if next == len(text) || text[next] == '\n' || text[next] == '#' || text[i-1] == ' ' || column > s.frame().column {
		return false
	}
	if resolveHint[first] == isString && first != '<' {
		s.setString(begin, begin, i)
	} else if !s.resolved(begin, i, false) {
		return false
	}
	s.i, s.column = next, column
	return true
}

// quotedKey returns the index of the closing quote of a key without escapes, or 0.
func (s *yamlScanner) quotedKey(quote byte) (closing int, special bool) {
	closing, special, ok := s.quotedLine(s.i+1, quote)
	if !ok || string(s.text[s.i+1:closing]) == "<<" {
		return 0, false
	}
	return closing, special
}

// colon reports whether the colon of a key is at i.
func (s *yamlScanner) colon(i int) bool {
	return i < len(s.text) && s.text[i] == ':' && (i+1 == len(s.text) || s.text[i+1] == ' ' || s.text[i+1] == '\n')
}

// plainScalar sets a value to the plain scalar that begins with text[from:to], and reads the lines that continue it.
func (s *yamlScanner) plainScalar(from, to, next int, special bool) bool {
	text := s.text
	breaks := s.continuation(next)
	if breaks == 0 {
		return s.resolved(from, to, special)
	}
	n := s.set(String, from)
	begin := len(s.out)
	s.out = append(append(s.out, '"'), text[from:to]...)
	for ; breaks > 0; breaks = s.continuation(next) {
		if breaks == 1 {
			s.out = append(s.out, ' ')
		}
		for special = special || breaks > 1; breaks > 1; breaks-- {
			s.out = append(s.out, '\n')
		}
		var more bool
		from = s.i
		if to, next, more = s.plainPart(from); to == from || next < len(text) && text[next] == ':' {
			return false
		}
		s.out = append(s.out, text[from:to]...)
		special = special || more
	}
	if content := s.out[begin+1:]; resolveHint[content[0]] != isString && s.resolve(content) != String {
		return false
	}
	s.endString(n, special)
	return true
}

// continuation goes to the line that continues a plain scalar whose part ends at next, and returns the number of line
// breaks. Without such a line, it goes to the next text and returns 0.
func (s *yamlScanner) continuation(next int) (breaks int) {
	text, i := s.text, next
	stop := byte(0)
	if i < len(text) {
		stop = text[i]
	}
	if stop == '#' {
		i = s.comment(i)
	}
	for breaks = 1; i < len(text); breaks++ {
		i++
		begin := i
		i = spaces(text, i)
		if i < len(text) && text[i] == '\n' && stop == '\n' {
			continue
		}
		s.i, s.column = begin, unknown
		if stop != '\n' || i == len(text) || text[i] == '#' || text[i] == '\t' || i-begin <= s.frame().column {
			return 0
		}
		s.i = i
		return breaks
	}
	s.i, s.column = i, unknown
	return 0
}
