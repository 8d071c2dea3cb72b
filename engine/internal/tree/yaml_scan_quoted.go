package tree

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// quotedLine returns the index of the closing quote of a quoted scalar that has no escapes and ends in its line.
func (s *yamlScanner) quotedLine(i int, quote byte) (closing int, special, ok bool) {
	text := s.text
	if quote == '"' {
		for {
			if i = textStop(text, i); i >= len(text) {
				return 0, false, false
			}
			switch text[i] {
			case '"':
				return i, special, true
			case '\\', '\n':
				return 0, false, false
			case '\t':
				special = true
			default:
				size := s.printable(i)
				if size == 0 {
					return 0, false, false
				}
				i += size - 1
			}
			i++
		}
	}
	k := bytes.IndexByte(text[i:], '\'')
	if k < 0 {
		return 0, false, false
	}
	closing = i + k
	if closing+1 < len(text) && text[closing+1] == '\'' {
		return 0, false, false
	}
	for i = textStop(text, i); i < closing; i = textStop(text, i) {
		switch text[i] {
		case '"', '\\', '\t':
			special = true
			i++
		default:
			size := s.printable(i)
			if size == 0 {
				return 0, false, false
			}
			i += size
		}
	}
	return closing, special, true
}

// quoted reads a quoted scalar, of any number of lines.
func (s *yamlScanner) quoted() bool {
	text, quote, at := s.text, s.text[s.i], s.i
	if closing, special, ok := s.quotedLine(at+1, quote); ok && !special {
		s.i = closing + 1
		s.setString(at, at+1, closing)
		return true
	}
	n := s.set(String, at)
	s.out = append(s.out, '"')
	begin := len(s.out)
	keep := begin // the length of out below which spaces belong to the content
	i := s.i + 1
	for {
		from := i
		for i = quotedStop(text, i, quote); i < len(text); {
			size := 1
			if c := text[i]; c == quote || c == '\n' || c == '\\' && quote == '"' {
				break
			} else if c != '\\' && c != '\t' {
				if size = s.printable(i); size == 0 {
					return false
				}
			}
			i = quotedStop(text, i+size, quote)
		}
		s.out = append(s.out, text[from:i]...)
		if i >= len(text) {
			return false
		}
		switch c := text[i]; {
		case c == '\n':
			for len(s.out) > keep && blank(s.out[len(s.out)-1]) {
				s.out = s.out[:len(s.out)-1]
			}
			var ok bool
			if i, ok = s.foldLines(i); !ok {
				return false
			}
			keep = len(s.out)
		case c == '\\':
			if i+1 < len(text) && text[i+1] == '\n' {
				begin := i + 2
				i, keep = s.skipBlank(begin), len(s.out)
				if i == len(text) || text[i] == '\n' || i == begin && (text[i] == '-' || text[i] == '.') {
					return false
				}
				continue
			}
			size := s.unescape(text[i+1:])
			if size == 0 {
				return false
			}
			i, keep = i+1+size, len(s.out)
		case c == '\'' && i+1 < len(text) && text[i+1] == '\'':
			s.out = append(s.out, '\'')
			i += 2
			keep = len(s.out)
		default:
			s.i = i + 1
			s.endString(n, true)
			return true
		}
	}
}

// quotedStop returns the index of the first quote, backslash or byte that is not printable ASCII at or after i. It
// checks eight bytes at a time.
func quotedStop(text []byte, i int, quote byte) int {
	quotes := ones * uint64(quote)
	for len(text)-i >= 8 {
		x := binary.LittleEndian.Uint64(text[i:])
		if m := (((x ^ quotes) - ones) | ((x ^ ones*'\\') - ones) | (x - ones*' ') | (x + ones) | x) & highs; m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
		i += 8
	}
	for i < len(text) && text[i] >= ' ' && text[i] != quote && text[i] != '\\' && text[i] < 0x7f {
		i++
	}
	return i
}

func blank(c byte) bool { return c == ' ' || c == '\t' }

// skipBlank returns the index of the first byte at or after i that is not a space and no tab.
func (s *yamlScanner) skipBlank(i int) int {
	for i < len(s.text) && blank(s.text[i]) {
		i++
	}
	return i
}

// foldLines writes the line breaks at i: one as a space, and otherwise all but the first. It returns the index of the
// next text. Document markers are doubts.
func (s *yamlScanner) foldLines(i int) (next int, ok bool) {
	breaks, begin := 0, i
	for i < len(s.text) && s.text[i] == '\n' {
		breaks++
		begin = i + 1
		i = s.skipBlank(begin)
	}
	if i >= len(s.text) || i == begin && (s.text[i] == '-' || s.text[i] == '.') {
		return 0, false
	}
	if breaks == 1 {
		s.out = append(s.out, ' ')
	}
	for ; breaks > 1; breaks-- {
		s.out = append(s.out, '\n')
	}
	return i, true
}

// unescape appends the character of an escape, without its backslash. It returns the length of the escape, or 0 for one
// that it does not know.
func (s *yamlScanner) unescape(text []byte) (size int) {
	if len(text) == 0 {
		return 0
	}
	digits := 0
	r := rune(0)
	switch text[0] {
	case '0':
	case 'a':
		r = '\a'
	case 'b':
		r = '\b'
	case 't', '\t':
		r = '\t'
	case 'n':
		r = '\n'
	case 'v':
		r = '\v'
	case 'f':
		r = '\f'
	case 'r':
		r = '\r'
	case 'e':
		r = 0x1b
	case ' ', '"', '\'', '\\':
		r = rune(text[0])
	case 'N':
		r = 0x85
	case '_':
		r = 0xa0
	case 'L':
		r = '\u2028'
	case 'P':
		r = '\u2029'
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	default:
		return 0
	}
	if digits > 0 {
		if len(text) < 1+digits {
			return 0
		}
		var padded = [8]byte{'0', '0', '0', '0', '0', '0', '0', '0'}
		copy(padded[8-digits:], text[1:1+digits])
		high, low := hex4(padded[:], 0), hex4(padded[:], 4)
		if r = high<<16 | low; high < 0 || low < 0 || high > 0x10 || !utf8.ValidRune(r) {
			return 0
		}
	}
	if r >= utf8.RuneSelf {
		s.wide = true
	}
	s.out = utf8.AppendRune(s.out, r)
	return 1 + digits
}
