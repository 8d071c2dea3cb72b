package tree

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
	out, arena := s.out, s.doc.Src[Arena]
	out = append(out, '"')
	start := len(arena)
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
				breaks++
			} else if breaks == 0 {
				out, arena = append(out, ' '), append(arena, ' ')
			}
		}
		for ; breaks > 0; breaks-- {
			out, arena = append(out, `\n`...), append(arena, '\n')
		}
		content, foldable = true, !blank(c)
		var end int
		if out, end = s.appendLine(out, i); end < 0 {
			return false
		}
		arena = append(arena, text[i:end]...)
		if i, ended = end, end < len(text); ended {
			i++
		}
	}
	if chomp != '+' {
		breaks = 0
	}
	if chomp != '-' && content && ended {
		breaks++
	}
	for ; breaks > 0; breaks-- {
		out, arena = append(out, `\n`...), append(arena, '\n')
	}
	s.i, s.column = i, unknown
	out = append(out, '"')
	s.out = out
	s.escaped(n, arena, start)
	return true
}

// appendLine appends the rest of the line of i to out, with escapes. It returns the index of the line break, or -1 on a
// doubt.
func (s *yamlScanner) appendLine(out []byte, i int) (_ []byte, end int) {
	text := s.text
	for from := i; ; from = i {
		for i = textStop(text, i); i < len(text) && text[i] >= 0x7f; {
			size := s.printable(i)
			if size == 0 {
				return out, -1
			}
			i = textStop(text, i+size)
		}
		out = append(out, text[from:i]...)
		if i == len(text) || text[i] == '\n' {
			return out, i
		}
		c := text[i]
		if c == '\t' {
			c = 't'
		} else if c < ' ' {
			return out, -1
		}
		out = append(out, '\\', c)
		i++
	}
}
