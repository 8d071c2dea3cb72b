package assist

import "strings"

// Bounds of the symbols of a text.
const (
	maxSymbols     = 5000
	maxSymbolDepth = 4
)

// SymbolKind is the kind of a symbol.
type SymbolKind uint8

// The kinds of symbols.
const (
	SymbolObject SymbolKind = iota // a document
	SymbolField
	SymbolList
)

// Symbol is an object of a text, or a field of it.
type Symbol struct {
	Kind SymbolKind
	// Name is the kind of an object, the name of a field, and the name or the index of an item.
	Name string
	// Detail is the name of an object.
	Detail string
	// Begin and End are the symbol, and NameBegin and NameEnd the part that identifies it.
	Begin, End, NameBegin, NameEnd int
	Children                       []Symbol
}

// Symbols returns the objects of a text, with their fields.
func Symbols(text []byte) (list []Symbol) {
	left := maxSymbols
	for _, d := range outline(text) {
		if d.root.kind != mapping {
			continue
		}
		symbol := Symbol{
			Kind: SymbolObject, Name: d.root.child("kind").scalarText(text), Begin: d.root.begin, End: d.root.end,
			NameBegin: d.root.begin, NameEnd: d.root.begin,
		}
		if metadata := d.root.child("metadata"); metadata != nil {
			symbol.Detail = metadata.child("name").scalarText(text)
		}
		if symbol.Name == "" {
			symbol.Name = "document"
		}
		if len(d.root.children) > 0 {
			first := d.root.children[0]
			symbol.NameBegin, symbol.NameEnd = first.start, max(first.end, first.keyEnd)
			if first.kind == mapping || first.kind == sequence {
				symbol.NameEnd = first.keyEnd
			}
		}
		symbol.Children = d.root.symbols(text, 1, &left)
		list = append(list, symbol)
	}
	return list
}

// symbols returns the symbols of the children of a node.
func (n *node) symbols(text []byte, depth int, left *int) (list []Symbol) {
	for _, c := range n.children {
		if *left--; *left < 0 || depth > maxSymbolDepth {
			return list
		}
		symbol := Symbol{
			Kind: SymbolField, Name: c.name, Begin: c.start, End: max(c.end, c.keyEnd),
			NameBegin: c.start, NameEnd: c.keyEnd,
		}
		if c.kind == sequence {
			symbol.Kind = SymbolList
		}
		if c.index >= 0 {
			if symbol.Name = c.child("name").scalarText(text); symbol.Name == "" {
				symbol.Name = c.path()[len(c.path())-1]
			}
		}
		if strings.TrimSpace(symbol.Name) == "" {
			continue
		}
		symbol.Children = c.symbols(text, depth+1, left)
		list = append(list, symbol)
	}
	return list
}
