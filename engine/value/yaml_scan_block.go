package value

// blockScalar adds a literal or folded scalar.
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
	n := s.add(String, at)
	if n == nil {
		return false
	}
	outer := s.frames[len(s.frames)-1].column
	indent := 0
	if increment > 0 {
		indent = outer + increment
	}
	s.out = append(s.out, '"')
	begin := len(s.out)
	breaks := 0               // the line breaks since the last line with content, without its own
	ended := false            // the last line with content has a line break
	foldable := false         // it does not begin with white space
	content, most := false, 0 // most is the largest number of spaces in an empty line
	for i++; i < len(text); {
		column := 0
		for i < len(text) && text[i] == ' ' && (indent == 0 || column < indent) {
			i++
			column++
		}
		if i == len(text) && indent == 0 {
			return false
		}
		if i < len(text) && text[i] == '\n' {
			breaks++
			most = max(most, column)
			i++
			continue
		}
		if i < len(text) && text[i] == '\t' && (indent == 0 || column < indent) {
			return false
		}
		if indent == 0 {
			indent = max(column, outer+1, 1)
			if most > column {
				return false
			}
		}
		if column < indent || i == len(text) {
			i -= column
			break
		}
		isBlank := blank(text[i])
		if content {
			if !literal && foldable && !isBlank {
				if breaks == 0 {
					s.out = append(s.out, ' ')
				}
			} else {
				s.out = append(s.out, '\n')
			}
		}
		for ; breaks > 0; breaks-- {
			s.out = append(s.out, '\n')
		}
		end := lineEnd(text, i)
		s.out = append(s.out, text[i:end]...)
		content, foldable, ended = true, !isBlank, end < len(text)
		i = min(end+1, len(text))
	}
	if chomp != '-' && content && ended {
		s.out = append(s.out, '\n')
	}
	if chomp == '+' {
		for ; breaks > 0; breaks-- {
			s.out = append(s.out, '\n')
		}
	}
	s.i, s.column = i, unknown
	s.endString(n, len(s.out) > begin)
	return true
}
