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

// notPlain has the bytes with which no plain scalar begins, and dash and colon, with which some do.
var notPlain = func() (table [256]bool) {
	for _, c := range " \t\n-?:,[]{}#&*!|>'\"%@`" {
		table[c] = true
	}
	return table
}()

// plainLine reads the first line of a plain scalar.
func (s *yamlScanner) plainLine(i int) (p plainPart, ok bool) {
	if c := s.text[i]; notPlain[c] && (c != '-' && c != ':' || i+1 == len(s.text) || s.text[i+1] <= ' ') {
		return p, false
	}
	return s.plainPart(i)
}

// plainPart reads plain text from i to the end of the line at most.
func (s *yamlScanner) plainPart(i int) (p plainPart, ok bool) {
	text := s.text
	p.from = i
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
			return p, false
		}
	}
	p.next = i
	for i > p.from && text[i-1] == ' ' {
		i--
	}
	p.to = i
	return p, true
}

// plainStop returns the index of the first byte at or after i that may end plain text or may need an escape, or the
// length of the text. It checks eight bytes at a time.
func plainStop(text []byte, i int) int {
	for len(text)-i >= 8 {
		x := binary.LittleEndian.Uint64(text[i:])
		// x|ones maps a quote to the number sign. The lowest bit set is right.
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

// plainKey returns a plain text as a key. Keys that are not strings in YAML are doubts, except for decimal integers.
func (s *yamlScanner) plainKey(p plainPart) (k scannedKey, ok bool) {
	text := s.text[p.from:p.to]
	if p.to != p.next || string(text) == "<<" {
		return k, false
	}
	if resolveHint[text[0]] != isString && !decimal(text) {
		if kind := s.resolve(text); kind != String {
			return k, false
		}
	}
	return scannedKey{from: p.from, to: p.to, at: p.from, colon: p.next, special: p.special}, true
}

// readKey reads a key, plain or quoted, and its colon.
func (s *yamlScanner) readKey() (k scannedKey, ok bool) {
	switch c := s.text[s.i]; c {
	case '"', '\'':
		from := s.i + 1
		to, special, ok := s.quotedLine(from, c)
		if !ok || !s.colon(to+1) || string(s.text[from:to]) == "<<" {
			return k, false
		}
		return scannedKey{from: from, to: to, at: s.i, colon: to + 1, special: special}, true
	}
	p, ok := s.plainLine(s.i)
	if !ok || p.stop != ':' {
		return k, false
	}
	return s.plainKey(p)
}

// colon reports whether the colon of a key is at i.
func (s *yamlScanner) colon(i int) bool {
	return i < len(s.text) && s.text[i] == ':' && (i+1 == len(s.text) || s.text[i+1] == ' ' || s.text[i+1] == '\n')
}

// plainScalar adds a plain scalar that begins with a part, and reads the lines that continue it.
func (s *yamlScanner) plainScalar(p plainPart) bool {
	text := s.text
	first := p.from
	s.i = p.next
	next, column, ok := s.continuation(p.stop)
	if !ok {
		s.column = column
		return s.resolved(first, text[first:p.to], p.special)
	}
	n := s.add(String, first)
	if n == nil {
		return false
	}
	begin := len(s.out)
	s.out = append(append(s.out, '"'), text[first:p.to]...)
	special := p.special
	for ok {
		if breaks := next.breaks; breaks == 1 {
			s.out = append(s.out, ' ')
		} else {
			special = true
			for ; breaks > 1; breaks-- {
				s.out = append(s.out, '\n')
			}
		}
		if p, ok = s.plainPart(next.at); !ok || p.stop == ':' {
			return false
		}
		s.out = append(s.out, text[p.from:p.to]...)
		special = special || p.special
		s.i = p.next
		next, column, ok = s.continuation(p.stop)
	}
	s.column = column
	if content := s.out[begin+1:]; resolveHint[content[0]] != isString && s.resolve(content) != String {
		return false
	}
	s.endString(n, special)
	return true
}

// nextPart is the beginning of a line that continues a plain scalar.
type nextPart struct{ at, breaks int }

// continuation looks for a line that continues a plain scalar after a part that ended with stop. If there is none, i is
// at the next text, and column is that of this text if it is known.
func (s *yamlScanner) continuation(stop byte) (next nextPart, column int, ok bool) {
	text, i := s.text, s.i
	if stop == '#' {
		i = lineEnd(text, i)
	}
	for breaks := 1; i < len(text); breaks++ {
		i++
		begin := i
		for i < len(text) && text[i] == ' ' {
			i++
		}
		if i < len(text) && text[i] == '\n' && stop == '\n' {
			continue
		}
		s.i = i
		column = i - begin
		return nextPart{i, breaks}, column, stop == '\n' && i < len(text) && text[i] != '#' && text[i] != '\t' &&
			column > s.frames[len(s.frames)-1].column
	}
	s.i = i
	return next, unknown, false
}
