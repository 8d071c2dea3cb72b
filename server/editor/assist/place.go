package assist

import "bytes"

// place is where text is completed.
type place struct {
	container  *node // the mapping whose key is completed; nil for a value
	value      *node // the member or item whose value is completed
	begin, end int   // the text to replace
	hasColon   bool  // the key has a colon already
	dash       bool  // a key begins a new item of a list
	space      bool  // a space is missing before the value
	isJSON     bool  // the text around is in flow style with quotes
	column     int   // of the key
}

// column returns the column of an offset in bytes.
func column(text []byte, at int) int { return at - 1 - bytes.LastIndexByte(text[:at], '\n') }

// ownLine reports whether only white space and dashes are before an offset on its line.
func ownLine(text []byte, at int) bool {
	return len(bytes.Trim(text[at-column(text, at):at], " \t-")) == 0
}

// placeOf finds where text is completed at an offset.
func placeOf(text []byte, root *node, offset int) (place, bool) {
	before := text[offset-column(text, offset) : offset]
	if i := bytes.IndexByte(before, '#'); i >= 0 && (i == 0 || isSpace(before[i-1])) {
		return place{}, false // a comment
	}
	n := root.at(offset)
	at := place{begin: offset, end: offset, isJSON: inJSON(text, n), column: column(text, offset)}
	switch {
	case n.parent != nil && n.index < 0 && offset <= n.keyEnd: // a key
		at.container, at.begin, at.end, at.hasColon = n.parent, n.start, n.keyEnd, !n.noColon
		at.column = column(text, n.start)
		return at, true
	case n.kind == mapping && n.flow:
		if at.container = n; offset <= n.begin || offset == n.end && text[offset-1] == '}' {
			return at, false
		}
		return at, true
	case n.kind == sequence && n.flow:
		if offset <= n.begin || offset == n.end && text[offset-1] == ']' {
			return at, false
		}
		at.value = &node{index: len(n.children), parent: n}
		return at, true
	case n.kind == scalar && n.begin <= offset && offset <= n.end:
		at.value, at.begin, at.end = n, n.begin, n.end
		return at, true
	}
	leaf := n.last(offset)
	if leaf.kind == empty && leaf.parent != nil && !bytes.Contains(text[leaf.keyEnd:offset], []byte{'\n'}) {
		if leaf.index < 0 && leaf.noColon {
			return at, false
		}
		at.value, at.space = leaf, offset > 0 && text[offset-1] == ':'
		if leaf.index >= 0 {
			at.container = leaf
		}
		return at, true
	}
	if len(bytes.TrimSpace(before)) > 0 {
		return at, false
	}
	return at, at.blank(leaf)
}

// last returns the last and innermost node that begins before an offset.
func (n *node) last(offset int) *node {
	for n.parent != nil { // nodes before the offset may be in any ancestor
		n = n.parent
	}
	for {
		i := len(n.children) - 1
		for i >= 0 && n.children[i].start >= offset {
			i--
		}
		if i < 0 {
			return n
		}
		n = n.children[i]
	}
}

// blank finds the mapping that a key on a blank line belongs to, by its column.
func (p *place) blank(leaf *node) bool {
	for n := leaf; n != nil; n = n.parent {
		switch {
		case n.kind == mapping && !n.flow && n.column == p.column, n.parent == nil && n.kind == empty && p.column == 0:
			p.container = n
			return true
		case n.kind == sequence && !n.flow && n.column == p.column && len(n.children) > 0:
			p.container, p.dash = &node{index: len(n.children), parent: n}, true
			return true
		case n == leaf && n.kind == empty && n.parent != nil && n.parent.column < p.column:
			p.container = n
			return true
		}
	}
	return false
}

// inJSON reports whether keys around a node are quoted.
func inJSON(text []byte, n *node) bool {
	for ; n != nil; n = n.parent {
		if n.parent == nil {
			return n.flow && n.kind == mapping && (len(n.children) == 0 || text[n.children[0].start] == '"')
		}
	}
	return false
}
