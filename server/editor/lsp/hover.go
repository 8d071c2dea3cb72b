package lsp

import (
	"context"
	"strings"
)

// hover answers textDocument/hover.
func (s *server) hover(ctx context.Context, f *file, p *documentParams) (any, error) {
	lines := newLineIndex(f.text)
	h := s.workspace.assistant().Hover(ctx, s.workspace.source(f.path).Path, f.text, lines.offset(p.Position))
	if h == nil {
		return nil, nil
	}
	var b strings.Builder
	b.WriteString("**" + h.Path + "** `" + h.Type + "`\n\n")
	for _, detail := range h.Details {
		b.WriteString("- " + detail.String() + "\n")
	}
	if h.Text != "" {
		b.WriteString("\n```text\n" + strings.ReplaceAll(h.Text, "```", "'''") + "\n```\n")
	}
	r := lines.rangeOf(h.Begin, h.End)
	return hover{Contents: markupContent{"markdown", b.String()}, Range: &r}, nil
}
