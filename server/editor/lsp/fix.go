package lsp

import (
	"context"
	"slices"

	"github.com/crdeval/crdeval/server/editor/diagnosis"
)

// maxFixBytes bounds a document that has quick fixes, and the bytes that are parsed to verify its fixes.
const maxFixBytes = 8 << 20

// codeActions answers textDocument/codeAction with quick fixes of the diagnostics in a range.
func (s *server) codeActions(ctx context.Context, f *file, p *documentParams) (any, error) {
	actions := []codeAction{}
	only := func(kind string) bool { return kind == "" || kind == "quickfix" }
	if len(p.Context.Only) > 0 && !slices.ContainsFunc(p.Context.Only, only) {
		return actions, nil
	}
	d, _ := s.examine(ctx, f, s.workspace.parse(ctx, f.path, f.text))
	documents := map[int]*diagnosis.Document{} // by their begin
	for i := range d.list {
		of := &d.list[i]
		r := of.diagnostic.Range
		if before(p.Range.End, r.Start) || before(r.End, p.Range.Start) || of.manifest == nil || ctx.Err() != nil {
			continue
		}
		begin, end := of.manifest.Extent()
		document := documents[begin]
		if document == nil {
			document = diagnosis.New(of.manifest, maxFixBytes)
			documents[begin] = document
		}
		if end-begin > maxFixBytes {
			continue
		}
		for _, fix := range document.Sibling(of.manifest).Fixes(&of.Finding, s.schemaOf(ctx, of)) {
			var edits []TextEdit
			for _, e := range fix.Edits {
				edits = append(edits, TextEdit{d.lines.rangeOf(begin+e.Start, begin+e.End), e.Text})
			}
			actions = append(actions, codeAction{
				Title: fix.Title, Kind: "quickfix", Diagnostics: []Diagnostic{of.diagnostic}, IsPreferred: fix.Preferred,
				Edit: &workspaceEdit{Changes: map[string][]TextEdit{f.uri: edits}},
			})
		}
	}
	return actions, nil
}

func before(a, b Position) bool {
	return a.Line < b.Line || a.Line == b.Line && a.Character < b.Character
}

// schemaOf returns the function that returns the schemas of the fields of a finding's manifest.
func (s *server) schemaOf(ctx context.Context, f *diagnosedFinding) func(pointer string) *diagnosis.Schema {
	return s.workspace.assistant().Schema(ctx, f.CRD, f.manifest.APIVersion, f.manifest.Kind).Field
}
