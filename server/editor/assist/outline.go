package assist

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// kind is the kind of a node.
type kind uint8

const (
	empty    kind = iota // no value is written
	scalar               // also an alias
	mapping              // block or flow style
	sequence             // block or flow style
)

// node is a value of an outline, with the key or the dash before it. All offsets are bytes in the file.
type node struct {
	kind     kind
	flow     bool // { or [, as in JSON
	noColon  bool // the text of the key has no colon yet
	name     string
	index    int // of an item; -1 for a member of a mapping and for a root
	start    int // of the key or of the dash
	keyEnd   int // after the key or the dash, without the colon
	begin    int // of the value
	end      int // of the value, or of the key if no value is written
	column   int // of the keys or dashes of a mapping or sequence in block style
	parent   *node
	children []*node
}

// section is an outline of one YAML document of a file, or of a JSON text.
type section struct {
	begin, end int // end is that of the file, or the position of the next document
	root       *node
}

// maxNesting bounds the depth of an outline. Deeper values are scalars.
const maxNesting = 500

// outline reads the structure of a YAML stream or of JSON. It accepts any text: invalid parts become scalars or are
// skipped. Anchors, tags and aliases are not resolved.
func outline(text []byte) (all []section) {
	for begin := 0; begin <= len(text); {
		end, next := documentEnd(text, begin)
		s := scanner{text: text[:end], at: begin, line: bytes.LastIndexByte(text[:begin], '\n') + 1, seen: begin}
		if len(s.text) > begin && bytes.HasPrefix(s.text[begin:], []byte("---")) {
			s.at += 3
		}
		root := &node{index: -1, start: s.at, keyEnd: s.at, begin: s.at, end: s.at, column: -1}
		if !bytes.HasPrefix(text[begin:], []byte("%")) { // not the directives of the next document
			s.value(root, -1, true)
		}
		all = append(all, section{begin, next, root})
		if next >= len(text) {
			break
		}
		begin = next
	}
	return all
}

// documentEnd returns the end of the text of the document at begin, and the begin of the next one.
func documentEnd(text []byte, begin int) (end, next int) {
	for at := begin; at < len(text); {
		line := lineAt(text, at)
		if at > begin && isMarker(line, "---") {
			return at, at
		}
		at += len(line)
		if isMarker(line, "...") {
			return at - len(line), at
		}
	}
	return len(text), len(text) + 1
}

func isMarker(line []byte, marker string) bool {
	return bytes.HasPrefix(line, []byte(marker)) && (len(line) == 3 || bytes.IndexByte([]byte(" \t\r\n"), line[3]) >= 0)
}

// lineAt returns the rest of the line at an offset, with its end.
func lineAt(text []byte, at int) []byte {
	if end := bytes.IndexByte(text[at:], '\n'); end >= 0 {
		return text[at : at+end+1]
	}
	return text[at:]
}

// scanner reads one document.
type scanner struct {
	text  []byte
	at    int
	depth int
	// The begin of the line that contains seen. Lines can be as long as the text, so column searches only new text.
	line, seen int
}

// skip moves to the next text that is not white space or a comment, and returns its column in bytes. It returns -1 at
// the end of the document.
func (s *scanner) skip() int {
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == '#' && (s.at == 0 || isSpace(s.text[s.at-1])):
			s.at += len(bytes.TrimRight(lineAt(s.text, s.at), "\n")) - 1
		case !isSpace(c):
			return s.column(s.at)
		}
	}
	return -1
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// column returns the number of bytes before an offset on its line. A marker of a document counts as white space.
func (s *scanner) column(at int) int {
	if at < s.line {
		s.line, s.seen = bytes.LastIndexByte(s.text[:at], '\n')+1, at
	}
	if at > s.seen {
		if i := bytes.LastIndexByte(s.text[s.seen:at], '\n'); i >= 0 {
			s.line = s.seen + i + 1
		}
		s.seen = at
	}
	return at - s.line
}

// restOfLine reports whether the line has more text than white space and a comment, and moves to it.
func (s *scanner) restOfLine() bool {
	for s.at < len(s.text) && (s.text[s.at] == ' ' || s.text[s.at] == '\t' || s.text[s.at] == '\r') {
		s.at++
	}
	return s.at < len(s.text) && s.text[s.at] != '\n' && (s.text[s.at] != '#' || s.at > 0 && !isSpace(s.text[s.at-1]))
}

// isDash reports whether an item of a block sequence begins here.
func (s *scanner) isDash() bool {
	return s.at < len(s.text) && s.text[s.at] == '-' && (s.at+1 == len(s.text) || isSpace(s.text[s.at+1]))
}

// value reads the value of a node, if its column is more than that of the parent. nested says that a block mapping or
// sequence can begin here, as on a new line.
func (s *scanner) value(n *node, parent int, nested bool) {
	column := s.skip()
	if column <= parent {
		return
	}
	for s.at < len(s.text) && (s.text[s.at] == '&' || s.text[s.at] == '!') { // properties
		line := s.text[s.at : s.at+len(lineAt(s.text, s.at))]
		length := bytes.IndexAny(line, " \t\r\n")
		if length < 0 {
			length = len(line)
		}
		s.at += length
		if !s.restOfLine() {
			nested = true
			if column = s.skip(); column < parent || column == parent && !s.isDash() {
				return
			}
		} else if s.depth == 0 {
			column = s.column(s.at)
		}
	}
	if s.at >= len(s.text) {
		return
	}
	n.begin = s.at
	s.depth++
	defer func() { s.depth-- }()
	switch c := s.text[s.at]; {
	case s.depth > maxNesting:
		n.kind = scalar
		s.at = len(s.text)
	case c == '{' || c == '[':
		s.flowValue(n, parent)
	case nested && s.isDash():
		s.sequence(n, column)
	case nested && s.isKey():
		s.mapping(n, column)
	case c == '|' || c == '>':
		n.kind = scalar
		s.blockScalar(parent)
	case c == '"' || c == '\'':
		n.kind = scalar
		s.quoted()
		n.end = s.at
		s.dropRest()
		return
	default:
		n.kind = scalar
		if s.plain(n, parent, nested) {
			s.mapping(n, column)
		} else {
			return
		}
	}
	n.end = s.trimmed(n.begin)
	if i := len(n.children); i > 0 && !n.flow { // without comments after it
		n.end = n.children[i-1].end
	}
}

// trimmed returns the end of the text before the scanner, without white space and not before begin.
func (s *scanner) trimmed(begin int) int {
	return max(begin, len(bytes.TrimRight(s.text[:s.at], " \t\r\n")))
}

// dropRest skips text after a complete value up to the end of the line.
func (s *scanner) dropRest() {
	s.at += len(bytes.TrimRight(lineAt(s.text, s.at), "\n"))
}

// isKey reports whether a key with a colon begins here and ends on this line.
func (s *scanner) isKey() bool {
	_, colon := s.key()
	return colon >= 0
}

// key returns the end of the key that begins here, and the position of its colon, or -1.
func (s *scanner) key() (end, colon int) {
	line := bytes.TrimRight(lineAt(s.text, s.at), "\r\n")
	if len(line) == 0 {
		return s.at, -1
	}
	if c := line[0]; c == '"' || c == '\'' {
		length := quotedLength(line)
		rest := bytes.TrimLeft(line[length:], " \t")
		if len(rest) > 0 && rest[0] == ':' && (len(rest) == 1 || isSpace(rest[1])) {
			return s.at + length, s.at + len(line) - len(rest)
		}
		return s.at + length, -1
	}
	for i, c := range line {
		switch {
		case c == ':' && (i+1 == len(line) || isSpace(line[i+1])):
			return s.at + len(bytes.TrimRight(line[:i], " \t")), s.at + i
		case c == '#' && i > 0 && isSpace(line[i-1]):
			return s.at + len(bytes.TrimRight(line[:i], " \t")), -1
		case i == 0 && (c == '{' || c == '['): // a flow mapping or sequence as a key is not a field
			return s.at, -1
		}
	}
	return s.at + len(bytes.TrimRight(line, " \t")), -1
}

// quotedLength returns the length of a quoted text, or of the line if the end is missing.
func quotedLength(line []byte) int {
	quote := line[0]
	for i := 1; i < len(line); i++ {
		switch {
		case quote == '"' && line[i] == '\\':
			i++
		case line[i] == quote && quote == '\'' && i+1 < len(line) && line[i+1] == quote:
			i++
		case line[i] == quote:
			return i + 1
		}
	}
	return len(line)
}

// sequence reads a block sequence.
func (s *scanner) sequence(n *node, column int) {
	n.kind, n.column = sequence, column
	for i := 0; s.skip() == column && s.isDash(); i++ {
		item := &node{index: i, start: s.at, keyEnd: s.at + 1, begin: s.at + 1, end: s.at + 1, column: -1, parent: n}
		n.children = append(n.children, item)
		s.at++
		s.value(item, column, true)
	}
}

// mapping reads a block mapping. A line without a colon becomes a key without a value.
func (s *scanner) mapping(n *node, column int) {
	n.kind, n.column = mapping, column
	for {
		switch at := s.skip(); {
		case at < column:
			return
		case at > column: // wrong indentation
			s.dropRest()
			continue
		case s.isDash() && n.parent != nil && n.parent.kind == sequence && n.parent.column == column:
			return
		}
		end, colon := s.key()
		m := &node{
			name: nameOf(s.text[s.at:end]), index: -1, start: s.at, keyEnd: end, begin: end, end: end, noColon: colon < 0,
			column: -1, parent: n,
		}
		n.children = append(n.children, m)
		if colon < 0 {
			s.at = max(end, s.at+1)
			s.dropRest()
			continue
		}
		s.at = colon + 1
		m.begin, m.end = s.at, s.at
		if s.restOfLine() {
			s.value(m, column, false)
			continue
		}
		if at := s.skip(); at == column && s.isDash() { // a sequence needs no indentation below a key
			m.begin = s.at
			s.sequence(m, column)
			m.end = m.children[len(m.children)-1].end
		} else {
			s.value(m, column, true)
		}
	}
}

// plain reads a plain scalar. It reports whether it is the first line of a mapping instead, without a colon.
func (s *scanner) plain(n *node, parent int, nested bool) (isMapping bool) {
	first, column := s.at, s.column(s.at)
	end, _ := s.key() // up to a comment
	if !nested {      // a colon does not end the value of a key
		line := bytes.TrimRight(lineAt(s.text, s.at), "\r\n")
		if i := bytes.Index(line, []byte(" #")); i >= 0 {
			line = line[:i]
		}
		end = s.at + len(bytes.TrimRight(line, " \t"))
	}
	s.at, n.end = end, end
	s.dropRest()
	for {
		before := s.at
		at := s.skip()
		switch {
		case at <= parent:
			s.at = before
			return false
		case s.isKey() && nested && at == column:
			s.at = first
			return true
		case s.isKey() || s.isDash():
			s.at = before
			return false
		}
		n.end, _ = s.key()
		s.dropRest()
	}
}

// quoted moves after a quoted scalar, which can have several lines. If its end is missing, it ends with the line.
func (s *scanner) quoted() {
	quote, first := s.text[s.at], s.at
	for s.at++; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case quote == '"' && c == '\\', quote == '\'' && c == quote && s.at+1 < len(s.text) && s.text[s.at+1] == quote:
			s.at++
		case c == quote:
			s.at++
			return
		case c == '\n' && !closes(s.text[s.at:], quote):
			s.at = first + len(bytes.TrimRight(lineAt(s.text, first), "\r\n"))
			return
		}
	}
	s.at = first + len(bytes.TrimRight(lineAt(s.text, first), "\r\n"))
}

// closes reports whether the next line of a quoted scalar can belong to it: it has no key.
func closes(text []byte, quote byte) bool {
	line := bytes.TrimSpace(lineAt(text, 1))
	if len(line) > 0 && line[0] == quote {
		return true
	}
	i := bytes.IndexByte(line, ':')
	return i < 0 || i+1 < len(line) && line[i+1] != ' ' || bytes.IndexByte(line[:i], ' ') >= 0
}

// blockScalar moves after a literal or folded scalar.
func (s *scanner) blockScalar(parent int) {
	s.at += len(lineAt(s.text, s.at))
	for s.at < len(s.text) {
		line := lineAt(s.text, s.at)
		content := bytes.TrimLeft(line, " ")
		if len(bytes.TrimSpace(line)) > 0 && len(line)-len(content) <= parent {
			return
		}
		s.at += len(line)
	}
}

// flowValue reads a value in flow style. In a block of the column parent, it ends at a line that is not indented more.
func (s *scanner) flowValue(n *node, parent int) {
	n.begin = s.at
	s.depth++
	defer func() { s.depth-- }()
	switch c := s.text[s.at]; {
	case s.depth > maxNesting:
		n.kind = scalar
		s.at = len(s.text)
	case c == '{' || c == '[':
		n.flow, n.kind = true, mapping
		if c == '[' {
			n.kind = sequence
		}
		s.at++
		s.flowChildren(n, c+2, parent) // the closing bracket
	case c == '"' || c == '\'':
		n.kind = scalar
		s.quoted()
	default:
		n.kind = scalar
		s.flowPlain()
	}
	n.end = s.trimmed(n.begin)
}

// flowChildren reads the children of a flow mapping or sequence, up to its closing bracket.
func (s *scanner) flowChildren(n *node, closing byte, parent int) {
	for {
		line := s.at
		column := s.skip()
		if column < 0 || column <= parent && bytes.IndexByte(s.text[line:s.at], '\n') >= 0 && s.text[s.at] != closing {
			return
		}
		switch c := s.text[s.at]; c {
		case closing:
			s.at++
			return
		case '}', ']': // of another collection
			return
		case ',', ':':
			s.at++
			continue
		}
		child := &node{index: len(n.children), start: s.at, keyEnd: s.at, column: -1, parent: n}
		if n.kind == mapping {
			child.index = -1
			if c := s.text[s.at]; c == '"' || c == '\'' {
				s.quoted()
			} else if c == '{' || c == '[' {
				s.at++
			} else {
				s.flowPlain()
			}
			child.keyEnd = s.trimmed(child.start)
			child.name = nameOf(s.text[child.start:child.keyEnd])
			child.begin, child.end = child.keyEnd, child.keyEnd
			n.children = append(n.children, child)
			s.skip()
			if s.at >= len(s.text) || s.text[s.at] != ':' {
				child.noColon = true
				continue
			}
			s.at++
			child.begin, child.end = s.at, s.at
			if s.skip() < 0 || bytes.IndexByte([]byte(",}]"), s.text[s.at]) >= 0 {
				continue
			}
		} else {
			n.children = append(n.children, child)
		}
		before := s.at
		s.flowValue(child, parent)
		if s.at == before {
			s.at++
		}
	}
}

// flowPlain moves after a plain scalar in flow style.
func (s *scanner) flowPlain() {
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case bytes.IndexByte([]byte(",{}[]\n"), c) >= 0:
			return
		case c == ':' && (s.at+1 == len(s.text) || bytes.IndexByte([]byte(" \t\r\n,{}[]\""), s.text[s.at+1]) >= 0):
			return
		case c == '#' && isSpace(s.text[s.at-1]):
			return
		}
	}
}

// nameOf returns the name of a key as it is written.
func nameOf(key []byte) string {
	if len(key) > 1 && key[0] == '"' {
		var name string
		if json.Unmarshal(key, &name) == nil {
			return name
		}
	}
	if len(key) > 1 && key[0] == '\'' && key[len(key)-1] == '\'' {
		return strings.ReplaceAll(string(key[1:len(key)-1]), "''", "'")
	}
	return strings.Trim(string(key), `"`)
}

// child returns the last member with a name, or the item with that index, or nil.
func (n *node) child(name string) *node {
	if n.kind == sequence {
		if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(n.children) {
			return n.children[i]
		}
		return nil
	}
	for i := len(n.children) - 1; i >= 0; i-- {
		if n.children[i].name == name {
			return n.children[i]
		}
	}
	return nil
}

// path returns the names and indexes from the root. An index is a decimal number.
func (n *node) path() (steps []string) {
	for ; n.parent != nil; n = n.parent {
		step := n.name
		if n.index >= 0 {
			step = strconv.Itoa(n.index)
		}
		steps = append([]string{step}, steps...)
	}
	return steps
}

// scalarText returns the text of a scalar without quotes.
func (n *node) scalarText(text []byte) string {
	if n == nil || n.kind != scalar {
		return ""
	}
	return nameOf(text[n.begin:n.end])
}
