package lsp

import (
	"context"
	"fmt"
	"strings"

	"github.com/crdeval/crdeval/server/editor/assist"
)

// itemKinds are those of the protocol.
var itemKinds = map[assist.ItemKind]int{
	assist.ItemField: itemField, assist.ItemEnumValue: itemEnumMember, assist.ItemValue: itemValue,
	assist.ItemType: itemClass,
}

// completion answers textDocument/completion.
func (s *server) completion(ctx context.Context, f *file, p *documentParams) (any, error) {
	list := completionList{Items: []completionItem{}}
	if s.workspace.skips(f.path) {
		return list, nil
	}
	lines := newLineIndex(f.text)
	c := s.workspace.assistant().Complete(ctx, s.workspace.source(f.path).Path, f.text, lines.offset(p.Position))
	for i := range c.Items {
		of := &c.Items[i]
		item := completionItem{
			Label: of.Label, Kind: itemKinds[of.Kind], Detail: of.Detail, Documentation: documentation(of),
			Deprecated: of.Deprecated, SortText: fmt.Sprintf("%04d", i), FilterText: of.Filter,
			TextEdit: &TextEdit{lines.rangeOf(c.Begin, c.End), of.Text},
		}
		if strings.Contains(of.Text, "\n") {
			item.InsertTextMode = insertAsIs
		}
		list.Items = append(list.Items, item)
	}
	return list, nil
}

// documentation returns the documentation of a completion, or nil.
func documentation(of *assist.Item) *markupContent {
	text := of.Description
	for _, detail := range of.Details {
		text += "\n- " + detail.String()
	}
	switch {
	case text == "":
		return nil
	case of.Kind == assist.ItemField:
		return &markupContent{"markdown", strings.TrimSpace(text)}
	}
	return &markupContent{"plaintext", text}
}
