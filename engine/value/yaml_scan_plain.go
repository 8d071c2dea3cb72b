package value

import (
	"encoding/binary"
	"math/bits"
)

// plainPart is the part of a plain scalar in one line.
type plainPart struct {
	from, to int
	stop     byte // what ends it: ':' before white space, '#' after a space, a line feed, or 0 for the end of the text
	next     int  // index of stop
	special  bool // it has quotes or backslashes
}

// notPlain has the bytes that cannot begin a plain scalar. A dash and a colon can, if no white space follows.
var notPlain = func() (table [256]bool) {
	for _, c := range " \t\n-?:,[]{}#&*!|>'\"%@`" {
		table[c] = true
	}
	return table
}()

// plainLine reads the first line of a plain scalar at i into part.
func (s *yamlScanner) plainLine(i int) bool {
	if c := s.text[i]; notPlain[c] && (c != '-' && c != ':' || i+1 == len(s.text) || s.text[i+1] <= ' ') {
		return false
	}
	return s.plainPart(i)
}

// plainPart reads plain text from i to the end of the line at most, into part. Parts and keys are fields, because copies
// of them take a large part of the time.
func (s *yamlScanner) plainPart(i int) bool {
	text, p := s.text, &s.part
	p.from, p.stop, p.special = i, 0, false
scan:
	for ; ; i++ {
		if i = plainStop(text, i); i >= len(text) {
			break
		}
		switch c := text[i]; c {
		case '\n':
			p.stop = c
			break scan
		case ':':
			if i+1 == len(text) || text[i+1] <= ' ' {
				p.stop = c
				break scan
			}
		case '#':
			if text[i-1] == ' ' {
				p.stop = c
				break scan
			}
		case '"', '\\':
			p.special = true
		case '\t':
			return false
		}
	}
	p.next = i
	for i > p.from && text[i-1] == ' ' {
		i--
	}
	p.to = i
	return true
}

// plainStop returns the index of the first byte at or after i that may end plain text or may need an escape, or the
// length of the text. It checks eight bytes at a time.
func plainStop(text []byte, i int) int {
	for len(text)-i >= 8 {
		x := binary.LittleEndian.Uint64(text[i:])
		// x|ones maps a quote to the number sign. Only the lowest set bit is exact.
		m := (((x | ones) ^ ones*'#') - ones) | ((x ^ ones*'\\') - ones) | ((x ^ ones*':') - ones) | (x - ones*' ') | x
		if m &= highs; m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
		i += 8
	}
	for i < len(text) {
		if c := text[i]; c < ' ' || c == '"' || c == '\\' || c == ':' || c == '#' || c >= 0x80 {
			return i
		}
		i++
	}
	return i
}

// plainKey takes the part as a key. Keys that are not strings in YAML are doubts, except for decimal integers.
func (s *yamlScanner) plainKey() bool {
	p, k := &s.part, &s.name
	text := s.text[p.from:p.to]
	if p.to != p.next || len(text) == 2 && string(text) == "<<" {
		return false
	}
	if resolveHint[text[0]] != isString && !decimal(text) && s.resolve(text) != String {
		return false
	}
	k.from, k.to, k.at, k.colon, k.special = p.from, p.to, p.from, p.next, p.special
	return true
}

// readKey reads a key, plain or quoted, and its colon into name.
func (s *yamlScanner) readKey() bool {
	if s.wordKey() {
		return true
	}
	if c := s.text[s.i]; c == '"' || c == '\'' {
		return s.quotedKey(c) && s.colon(s.name.colon)
	}
	return s.plainLine(s.i) && s.part.stop == ':' && s.plainKey()
}

// wordKey reads a plain key that needs no further checks into name. Most keys are of this kind.
func (s *yamlScanner) wordKey() bool {
	text, begin := s.text, s.i
	c := text[begin]
	if !letter(c) {
		return false
	}
	end := plainStop(text, begin)
	if len(text)-end < 2 || text[end] != ':' || text[end+1] != ' ' && text[end+1] != '\n' || text[end-1] == ' ' {
		return false
	}
	if resolveHint[c] == isWord && word(text[begin:end]) != String {
		return false
	}
	k := &s.name
	k.from, k.to, k.at, k.colon, k.special = begin, end, begin, end, false
	return true
}

// wordValue reads a plain scalar that takes the rest of its line, and begins with a letter, into part. It goes to the
// next line. It returns false if more than one line may belong to the scalar.
func (s *yamlScanner) wordValue() bool {
	text, begin := s.text, s.i
	if !letter(text[begin]) {
		return false
	}
	end := plainStop(text, begin)
	if end == len(text) || text[end] != '\n' || text[end-1] == ' ' {
		return false
	}
	next := spaces(text, end+1)
	column := next - end - 1
	if next == len(text) || column > s.frames[len(s.frames)-1].column || text[next] == '\n' {
		return false
	}
	s.i, s.column = next, column
	p := &s.part
	p.from, p.to, p.special = begin, end, false
	return true
}

func letter(c byte) bool { return c|0x20-'a' < 26 }

// quotedKey reads a quoted key without escapes into name.
func (s *yamlScanner) quotedKey(quote byte) bool {
	k := &s.name
	k.at, k.from = s.i, s.i+1
	var ok bool
	k.to, k.special, ok = s.quotedLine(k.from, quote)
	k.colon = k.to + 1
	return ok && string(s.text[k.from:k.to]) != "<<"
}

// colon reports whether the colon of a key is at i.
func (s *yamlScanner) colon(i int) bool {
	return i < len(s.text) && s.text[i] == ':' && (i+1 == len(s.text) || s.text[i+1] == ' ' || s.text[i+1] == '\n')
}

// plainScalar adds a plain scalar that begins with the part, and reads the lines that continue it.
func (s *yamlScanner) plainScalar() bool {
	text, p := s.text, &s.part
	first := p.from
	breaks := s.continuation()
	if breaks == 0 {
		return s.resolved(first, text[first:p.to], p.special)
	}
	n := s.add(String, first)
	if n == nil {
		return false
	}
	begin := len(s.out)
	s.out = append(append(s.out, '"'), text[first:p.to]...)
	special := p.special
	for ; breaks > 0; breaks = s.continuation() {
		if breaks == 1 {
			s.out = append(s.out, ' ')
		}
		for special = special || breaks > 1; breaks > 1; breaks-- {
			s.out = append(s.out, '\n')
		}
		if !s.plainPart(s.i) || p.stop == ':' {
			return false
		}
		s.out = append(s.out, text[p.from:p.to]...)
		special = special || p.special
	}
	if content := s.out[begin+1:]; resolveHint[content[0]] != isString && s.resolve(content) != String {
		return false
	}
	s.endString(n, special)
	return true
}

// continuation goes to the line that continues a plain scalar after the part, and returns the number of line breaks.
// Without such a line, it goes to the next text and returns 0.
func (s *yamlScanner) continuation() (breaks int) {
	text, i, stop := s.text, s.part.next, s.part.stop
	if stop == '#' {
		i = lineEnd(text, i)
	}
	for breaks = 1; i < len(text); breaks++ {
		i++
		begin := i
		i = spaces(text, i)
		if i < len(text) && text[i] == '\n' && stop == '\n' {
			continue
		}
		s.i, s.column = i, i-begin
		if stop != '\n' || i == len(text) || text[i] == '#' || text[i] == '\t' || s.column <= s.frames[len(s.frames)-1].column {
			return 0
		}
		return breaks
	}
	s.i, s.column = i, unknown
	return 0
}
