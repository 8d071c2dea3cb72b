package tree

import "bytes"

// flow reads a flow collection. It ends after the closing bracket. Comments in it are doubts.
func (s *yamlScanner) flow() bool {
	outer := len(s.frames)
	for {
		if !s.flowSpace() {
			return false
		}
		f := s.frame()
		c := s.text[s.i]
		if len(s.frames) > outer && c == f.closing() { // empty, or after a comma
			if !s.flowClose(outer) {
				return false
			}
			if len(s.frames) == outer {
				return true
			}
			continue
		}
		if len(s.frames) > outer {
			if f.sequence && s.add(f, place{noKey, uint32(s.i)}) == nil || !f.sequence && !s.flowKey() {
				return false
			}
			c = s.text[s.i]
		}
		switch c {
		case '[', '{':
			kind := Object
			if c == '[' {
				kind = Array
			}
			if !s.open(kind, unknown) {
				return false
			}
			s.i++
			continue
		case '"', '\'':
			if !s.quoted() {
				return false
			}
		default:
			from := s.i
			to, special := s.flowPlain()
			if to == from || !s.resolved(from, to, special) {
				return false
			}
		}
		if !s.flowClose(outer) {
			return false
		}
		if len(s.frames) == outer {
			return true
		}
	}
}

func (f *frame) closing() byte {
	if f.sequence {
		return ']'
	}
	return '}'
}

// flowClose reads the closing brackets that follow, and a comma if a container is still open.
func (s *yamlScanner) flowClose(outer int) bool {
	for s.flowSpace() {
		f := s.frame()
		switch s.text[s.i] {
		case ',':
			s.i++
			return f.last != 0
		case f.closing():
			if s.i++; !s.close() {
				return false
			}
			if len(s.frames) == outer {
				return true
			}
		default:
			return false
		}
	}
	return false
}

// flowKey reads a key, its colon, and the white space before the value.
func (s *yamlScanner) flowKey() bool {
	var to, colon int
	var special bool
	from := s.i
	if c := s.text[from]; c == '"' || c == '\'' {
		to, special = s.quotedKey(c)
		from, colon = from+1, to+1
	} else if to, special = s.flowPlain(); s.plainKey(from, to, to) {
		colon = to
	}
	if to == 0 || colon == 0 || colon >= len(s.text) || s.text[colon] != ':' || !s.addKey(from, to, colon, special) {
		return false
	}
	s.i = colon + 1
	return s.flowSpace()
}

// flowSpace goes to the next byte of a flow collection that is no white space. It returns false at the end of the text,
// for a tab, and for a line that may be a document marker.
func (s *yamlScanner) flowSpace() bool {
	text, i := s.text, s.i
	for ; i < len(text); i++ {
		switch text[i] {
		case ' ':
		case '\n':
			if i+1 < len(text) && (text[i+1] == '-' || text[i+1] == '.') {
				return false
			}
		case '\t':
			return false
		default:
			s.i = i
			return true
		}
	}
	return false
}

// flowPlain returns the end of a plain scalar at i and goes there. The scalar is empty on a doubt.
func (s *yamlScanner) flowPlain() (to int, special bool) {
	text, from := s.text, s.i
	if c := text[from]; notPlain[c] && (c != '-' || from+1 == len(text) || bytes.IndexByte([]byte(" \t\n,[]{}?:"), text[from+1]) >= 0) {
		return from, false
	}
	i := from
	var size int
scan:
	for ; i < len(text); i += size {
		size = 1
		switch text[i] {
		case ',', '[', ']', '{', '}', '\n':
			break scan
		case '?', '\t':
			return from, false
		case '#':
			if text[i-1] == ' ' {
				return from, false
			}
		case ':':
			if i+1 == len(text) || text[i+1] == ' ' || text[i+1] == '\n' {
				break scan
			}
			if bytes.IndexByte([]byte("\t,[]{}?\"'"), text[i+1]) >= 0 {
				return from, false
			}
		case '"', '\\':
			special = true
		default:
			if c := text[i]; c < ' ' || c >= 0x7f {
				if size = s.printable(i); size == 0 {
					return from, false
				}
			}
		}
	}
	for text[i-1] == ' ' {
		i--
	}
	s.i = i
	return i, special
}
