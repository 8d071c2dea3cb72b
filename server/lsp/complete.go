package lsp

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/diagnosis"
)

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

// completion answers textDocument/completion.
func (s *server) completion(ctx context.Context, f *file, p *documentParams) (any, error) {
	lines, docs := newLineIndex(f.text), outline(f.text)
	offset := lines.offset(p.Position)
	root := documentAt(docs, offset).root
	at, ok := placeOf(f.text, root, offset)
	list := completionList{Items: []completionItem{}}
	if !ok || s.workspace.skips(f.path) {
		return list, nil
	}
	n := at.container
	if n == nil {
		n = at.value
	}
	c := s.cursor(ctx, f, n, root)
	path := n.path()
	if len(path) < c.object {
		return list, nil
	}
	path = path[c.object:]
	var of *schema
	if c.crd != nil || c.schema != nil {
		of, _ = c.schema.at(path)
	} else if len(path) == 0 {
		of = &schema{props: &noFields, root: true}
	}
	edit := func(text string) *TextEdit { return &TextEdit{lines.rangeOf(at.begin, at.end), text} }
	switch {
	case at.container == nil && len(path) == 1 && (path[0] == "apiVersion" || path[0] == "kind"):
		list.Items = s.typeItems(f.text, c.root, path[0], &at)
	case of == nil:
		return list, nil
	case at.container == nil && of.props.Type == "object" && at.value.kind == scalar && ownLine(f.text, at.begin):
		at.container, at.column = at.value, column(f.text, at.begin) // the first key of a mapping
		list.Items = fieldItems(of, &at)
	case at.container == nil:
		list.Items = valueItems(of, &at)
	default:
		if of.props.Items != nil && of.props.Items.Schema != nil && at.container.kind == empty && !at.dash {
			at.dash = true // the first item of a list
			of = of.step("0")
		}
		list.Items = fieldItems(of, &at)
	}
	for i := range list.Items {
		item := &list.Items[i]
		item.TextEdit = edit(item.TextEdit.NewText)
		item.FilterText = string(f.text[at.begin:min(at.begin, at.end)]) + item.FilterText
		item.SortText = fmt.Sprintf("%04d", i)
		if strings.Contains(item.TextEdit.NewText, "\n") {
			item.InsertTextMode = insertAsIs // suffix indents the lines
		}
	}
	return list, nil
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
	case n.kind == scalar && offset >= n.begin:
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

// typeItems completes apiVersion or kind with those of the known CRDs.
func (s *server) typeItems(text []byte, root *node, field string, at *place) (items []completionItem) {
	apiVersion, kind := root.child("apiVersion").scalarText(text), root.child("kind").scalarText(text)
	seen := map[string]bool{}
	all := append(s.workspace.set().CRDs(), crdKind)
	group := workspace.GroupOf(apiVersion)
	has := func(fits func(*workspace.CRD) bool) bool { return slices.ContainsFunc(all, fits) }
	byKind := field == "apiVersion" && has(func(c *workspace.CRD) bool { return c.ObjectKind == kind })
	byGroup := field == "kind" && has(func(c *workspace.CRD) bool { return c.Group == group })
	for _, c := range all {
		for _, v := range c.Versions {
			value, other := c.Group+"/"+v.Name, c.ObjectKind
			if field == "kind" {
				value, other = c.ObjectKind, c.Group+"/"+v.Name
			}
			if !v.Served || seen[value] || byKind && c.ObjectKind != kind || byGroup && c.Group != group {
				continue
			}
			seen[value] = true
			item := at.valueItem(strconv.Quote(value), itemClass)
			item.Label, item.Detail = value, other
			if !at.isJSON {
				item.TextEdit.NewText = strings.Trim(item.TextEdit.NewText, `"`)
			}
			items = append(items, item)
		}
	}
	return items
}

// valueItem returns the completion of a value as JSON.
func (p *place) valueItem(value string, kind int) completionItem {
	text := written(value, p.isJSON)
	item := completionItem{Label: text, Kind: kind, FilterText: text}
	if p.space {
		text = " " + text
	}
	item.TextEdit = &TextEdit{NewText: text}
	return item
}

// valueItems completes a value with those that the schema lists.
func valueItems(of *schema, at *place) (items []completionItem) {
	for _, v := range of.values() {
		kind := itemValue
		if len(of.props.Enum) > 0 {
			kind = itemEnumMember
		}
		item := at.valueItem(v, kind)
		if of.props.Default != nil && string(of.props.Default.Raw) == v {
			item.Detail = "default"
		}
		if of.props.Description != "" {
			item.Documentation = &markupContent{"plaintext", of.props.Description}
		}
		items = append(items, item)
	}
	return items
}

// fieldItems completes a key with the declared fields that the mapping lacks.
func fieldItems(of *schema, at *place) (items []completionItem) {
	if len(of.props.Properties) == 0 && !of.root {
		if at.dash || at.container != nil && at.container.index >= 0 { // an item that is a scalar
			return valueItems(of, at)
		}
		return nil
	}
	for _, name := range of.names() {
		if other := at.container.child(name); other != nil && other.start != at.begin && at.container.kind != scalar {
			continue
		}
		p := of.step(name)
		text := name
		if at.isJSON || !diagnosis.IsPlain(name) {
			text = strconv.Quote(name)
		}
		item := completionItem{Label: name, Kind: itemField, Detail: p.typeText(), FilterText: text}
		if p.required {
			item.Detail += ", required"
		}
		documentation := p.props.Description
		for _, detail := range p.details() {
			documentation += "\n- " + detail
		}
		if documentation != "" {
			item.Documentation = &markupContent{"markdown", strings.TrimSpace(documentation)}
		}
		item.Deprecated = strings.HasPrefix(strings.ToLower(p.props.Description), "deprecated")
		if !at.hasColon {
			text += at.suffix(p)
		}
		if at.dash {
			text = "- " + text
		}
		item.TextEdit = &TextEdit{NewText: text}
		items = append(items, item)
	}
	return items
}

// suffix returns what follows a new key: the colon, and the begin of its value.
func (p *place) suffix(of *schema) string {
	column := p.column
	if p.dash {
		column += 2
	}
	indent := "\n" + strings.Repeat(" ", column+2)
	flow := p.isJSON || p.container.flow
	switch {
	case flow:
		return ": "
	case of.props.Type == "array" && of.props.Items != nil:
		return ":" + indent + "- "
	case of.props.Type == "object" && (len(of.props.Properties) > 0 || of.props.AdditionalProperties != nil):
		return ":" + indent
	}
	return ": "
}
