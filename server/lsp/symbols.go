package lsp

import (
	"context"
	"strings"
)

// Bounds of the symbols of a file.
const (
	maxSymbols     = 5000
	maxSymbolDepth = 4
)

// Kinds of symbols.
const (
	symbolClass = 5
	symbolField = 8
	symbolArray = 18
)

// symbols answers textDocument/documentSymbol: an object for each document, with its fields.
func (s *server) symbols(_ context.Context, f *file, _ *documentParams) (any, error) {
	lines, left := newLineIndex(f.text), maxSymbols
	list := []documentSymbol{}
	for _, d := range outline(f.text) {
		if d.root.kind != mapping {
			continue
		}
		name := d.root.child("kind").scalarText(f.text)
		detail := ""
		if metadata := d.root.child("metadata"); metadata != nil {
			detail = metadata.child("name").scalarText(f.text)
		}
		if name == "" {
			name = "document"
		}
		r := lines.rangeOf(d.root.begin, d.root.end)
		begin, end := d.root.begin, d.root.begin
		if len(d.root.children) > 0 {
			first := d.root.children[0]
			begin, end = first.start, max(first.end, first.keyEnd)
			if first.kind == mapping || first.kind == sequence {
				end = first.keyEnd
			}
		}
		list = append(list, documentSymbol{
			Name: name, Detail: detail, Kind: symbolClass, Range: r, SelectionRange: lines.rangeOf(begin, end),
			Children: d.root.symbols(f.text, lines, 1, &left),
		})
	}
	return list, nil
}

// symbols returns the symbols of the children of a node.
func (n *node) symbols(text []byte, lines *lineIndex, depth int, left *int) (list []documentSymbol) {
	for _, c := range n.children {
		if *left--; *left < 0 || depth > maxSymbolDepth {
			return list
		}
		symbol := documentSymbol{Name: c.name, Kind: symbolField, Range: lines.rangeOf(c.start, max(c.end, c.keyEnd))}
		if c.kind == sequence {
			symbol.Kind = symbolArray
		}
		if c.index >= 0 {
			if symbol.Name = c.child("name").scalarText(text); symbol.Name == "" {
				symbol.Name = c.path()[len(c.path())-1]
			}
		}
		if strings.TrimSpace(symbol.Name) == "" {
			continue
		}
		symbol.SelectionRange = lines.rangeOf(c.start, c.keyEnd)
		symbol.Children = c.symbols(text, lines, depth+1, left)
		list = append(list, symbol)
	}
	return list
}
