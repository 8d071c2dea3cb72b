package value

// blockScalar reads a literal or folded scalar.
func (s *yamlScanner) blockScalar() bool {
	text := s.text
	literal, at := text[s.i] == '|', s.i
	chomp, increment := byte(0), 0
	i := s.i + 1
header:
	for ; i < len(text) && text[i] != '\n'; i++ {
		switch c := text[i]; {
		case (c == '+' || c == '-') && chomp == 0:
			chomp = c
		case c >= '1' && c <= '9' && increment == 0:
			increment = int(c - '0')
		case c == ' ':
			if s.i = i; !s.restOfLine() {
				return false
			}
			i = s.i - 1
			break header
		default:
			return false
		}
	}
	if i == len(text) || text[i] != '\n' {
		return false
	}
	n := s.set(String, at)
	outer := s.frame().column
	indent := 0
	if increment > 0 {
		indent = outer + increment
	}
	s.out = append(s.out, '"')
	arena := len(s.doc.Src[Arena])
	breaks := 0               // the line breaks since the last line with content, without its own
	ended := false            // the last line with content has a line break
	foldable := false         // it does not begin with white space
	content, most := false, 0 // most is the largest number of spaces in an empty line
	for i++; i < len(text); {
		begin := i
		i = spaces(text, i)
		column := i - begin
		if indent > 0 && column > indent {
			column = indent
			i = begin + indent
		}
		if i == len(text) {
			if indent == 0 || column >= indent {
				return false
			}
			i = begin
			break
		}
		c := text[i]
		if c == '\n' {
			breaks++
			most = max(most, column)
			i++
			continue
		}
		if c == '\t' && (indent == 0 || column < indent) {
			return false
		}
		if indent == 0 {
			indent = max(column, outer+1, 1)
			if most > column {
				return false
			}
		}
		if column < indent {
			i = begin
			break
		}
		if content {
			if literal || !foldable || blank(c) {
				s.lineBreaks(1)
			} else if breaks == 0 {
				s.space()
			}
		}
		s.lineBreaks(breaks)
		breaks = 0
		content, foldable = true, !blank(c)
		i = s.escaped(i)
		if ended = i < len(text); ended {
			i++
		}
	}
	if chomp != '-' && content && ended {
		s.lineBreaks(1)
	}
	if chomp == '+' {
		s.lineBreaks(breaks)
	}
	s.i, s.column = i, unknown
	s.out = append(s.out, '"')
	n.End = uint32(len(s.out))
	length := len(s.doc.Src[Arena]) - arena
	if !s.ascii && wide(s.doc.Src[Arena][arena:]) {
		n.Flags |= Wide
	}
	if int(n.End-n.Off) == length+len(`""`) {
		s.doc.Src[Arena] = s.doc.Src[Arena][:arena]
	} else {
		n.Flags |= Escaped
		n.Val = uint64(arena)<<32 | uint64(length)
	}
	return true
}

// escaped appends the rest of a line to out, with escapes, and to the arena. It returns the index of the line break.
func (s *yamlScanner) escaped(i int) int {
	text := s.text
	begin := i
	for from := i; ; from = i {
		for i = plain(text, i); i < len(text) && text[i] >= 0x80; {
			i = plain(text, i+1)
		}
		s.out = append(s.out, text[from:i]...)
		if i == len(text) || text[i] == '\n' {
			break
		}
		switch c := text[i]; c {
		case '\t':
			s.out = append(s.out, '\\', 't')
		default:
			s.out = append(s.out, '\\', c)
		}
		i++
	}
	s.doc.Src[Arena] = append(s.doc.Src[Arena], text[begin:i]...)
	return i
}

func (s *yamlScanner) lineBreaks(n int) {
	for ; n > 0; n-- {
		s.out = append(s.out, '\\', 'n')
		s.doc.Src[Arena] = append(s.doc.Src[Arena], '\n')
	}
}

func (s *yamlScanner) space() {
	s.out = append(s.out, ' ')
	s.doc.Src[Arena] = append(s.doc.Src[Arena], ' ')
}
