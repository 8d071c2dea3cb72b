package diagnosis

import (
	"strings"

	"github.com/crdeval/crdeval/engine/value"
)

// This file finds the ends of values and keys in YAML and JSON. For rare styles, such as plain scalars of several
// lines in brackets, the end can be wrong. This shortens a range, but cannot cause a wrong fix, because each fix is
// verified.

// End returns the end of a value.
func (d *Document) End(p Place) int {
	if p.Value >= len(d.Text) {
		return len(d.Text)
	}
	switch c := d.Text[p.Value]; {
	case !p.Flow && (c == '|' || c == '>' || d.IsCollection(p)):
		return d.blockEnd(p)
	case c == '"' || c == '\'':
		return quotedEnd(d.Text, p.Value)
	case c == '{' || c == '[':
		return bracketsEnd(d.Text, p.Value)
	}
	if end := d.blockEnd(p); !p.Flow && end > d.LineEnd(p.Value) { // a scalar of several lines
		return plainEnd(d.Text, end-d.indentOf(end), false)
	}
	return plainEnd(d.Text, p.Value, p.Flow)
}

// KeyEnd returns the end of the key of a member.
func (d *Document) KeyEnd(p Place) int {
	if c := d.Text[p.Key]; c == '"' || c == '\'' {
		return quotedEnd(d.Text, p.Key)
	}
	line := d.Text[p.Key:d.LineEnd(p.Key)]
	for i := range len(line) {
		if line[i] == ':' && (i+1 == len(line) || line[i+1] == ' ' || line[i+1] == '\t') {
			return p.Key + len(strings.TrimRight(line[:i], " \t"))
		}
	}
	return p.Key + len(line)
}

// quotedEnd returns the end of a quoted text that begins at i.
func quotedEnd(text string, i int) int {
	quote := text[i]
	for i++; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote == '"':
			i++
		case text[i] == quote && quote == '\'' && i+1 < len(text) && text[i+1] == quote:
			i++
		case text[i] == quote:
			return i + 1
		}
	}
	return len(text)
}

// bracketsEnd returns the end of the list or map in brackets that begins at i.
func bracketsEnd(text string, i int) int {
	for depth := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		case '"', '\'':
			if strings.IndexByte(" \t\r\n,:{[", text[i-1]) >= 0 { // else an apostrophe in a plain text
				i = quotedEnd(text, i) - 1
			}
		case '#':
			if text[i-1] == ' ' || text[i-1] == '\n' {
				for i+1 < len(text) && text[i+1] != '\n' {
					i++
				}
			}
		}
	}
	return len(text)
}

// plainEnd returns the end of a scalar without quotes on its line.
func plainEnd(text string, start int, flow bool) int {
	i := start
	for ; i < len(text) && text[i] != '\n'; i++ {
		c := text[i]
		if c == '#' && i > start && (text[i-1] == ' ' || text[i-1] == '\t') || flow && strings.IndexByte(",]}", c) >= 0 {
			break
		}
	}
	return start + len(strings.TrimRight(text[start:i], " \t\r"))
}

// blockEnd returns the end of a block collection or a block scalar: of the last line that is indented more than its
// key, or, for a list, begins with a dash below the key.
func (d *Document) blockEnd(p Place) int {
	indent := -1 // of the root
	if p.Key >= 0 {
		indent = d.indentOf(p.Key)
	} else if len(p.path) > 0 {
		indent = d.indentOf(p.Value) - 1 // an item of a list: deeper than its dash
	}
	list := d.tree.Nodes[p.node].Kind == value.Array
	end := d.LineEnd(p.Value)
	for next := d.nextLine(p.Value); next < len(d.Text); next = d.nextLine(next) {
		line := d.Text[next:d.LineEnd(next)]
		body := strings.TrimLeft(line, " ")
		if body == "" || body[0] == '#' {
			continue
		}
		at := len(line) - len(body)
		dash := list && (body == "-" || strings.HasPrefix(body, "- "))
		if at < indent || at == indent && !dash {
			break
		}
		end = next + len(line)
	}
	return end
}

// newLine returns the end of a new line: \r\n if the text contains it, or else \n.
func (d *Document) newLine() string {
	if strings.Contains(d.Text, "\r\n") {
		return "\r\n"
	}
	return "\n"
}

// indentOf returns the number of bytes between the start of its line and a byte.
func (d *Document) indentOf(offset int) int {
	return offset - (strings.LastIndexByte(d.Text[:offset], '\n') + 1)
}

// nextLine returns the start of the line after the one that contains a byte, or the length of the text.
func (d *Document) nextLine(offset int) int {
	if i := strings.IndexByte(d.Text[offset:], '\n'); i >= 0 {
		return offset + i + 1
	}
	return len(d.Text)
}
