package lsp

import (
	"context"

	"github.com/crdeval/crdeval/server/editor/assist"
)

// symbolKinds are those of the protocol.
var symbolKinds = map[assist.SymbolKind]int{
	assist.SymbolObject: symbolClass, assist.SymbolField: symbolField, assist.SymbolList: symbolArray,
}

// symbols answers textDocument/documentSymbol: an object for each document, with its fields.
func (s *server) symbols(_ context.Context, f *file, _ *documentParams) (any, error) {
	list := symbolsOf(newLineIndex(f.text), assist.Symbols(f.text))
	if list == nil {
		list = []documentSymbol{}
	}
	return list, nil
}

func symbolsOf(lines *lineIndex, of []assist.Symbol) (list []documentSymbol) {
	for _, symbol := range of {
		list = append(list, documentSymbol{
			Name: symbol.Name, Detail: symbol.Detail, Kind: symbolKinds[symbol.Kind],
			Range:          lines.rangeOf(symbol.Begin, symbol.End),
			SelectionRange: lines.rangeOf(symbol.NameBegin, symbol.NameEnd),
			Children:       symbolsOf(lines, symbol.Children),
		})
	}
	return list
}
