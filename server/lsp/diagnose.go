package lsp

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// docsURL is the page that describes the codes of diagnostics.
const docsURL = "https://github.com/crdeval/crdeval/blob/main/docs/editors.md#diagnostics"

// rulesURL is the page about rules.
const rulesURL = "https://github.com/crdeval/crdeval/blob/main/docs/rules.md"

// diagnosed are the findings of an open file, with what is needed for ranges and fixes.
type diagnosed struct {
	file  *file
	lines *lineIndex
	docs  []document
	list  []diagnosedFinding
}

type diagnosedFinding struct {
	*finding
	diagnostic Diagnostic
	begin      int    // of the document
	text       []byte // of the document
}

// diagnose returns the diagnostics of a file, and the results for the next call. A template has none.
func (s *server) diagnose(ctx context.Context, f *file) ([]Diagnostic, map[string]*result) {
	d, results := s.examine(ctx, f)
	list := make([]Diagnostic, 0, len(d.list))
	for i := range d.list {
		list = append(list, d.list[i].diagnostic)
	}
	slices.SortStableFunc(list, func(a, b Diagnostic) int {
		return cmp.Or(cmp.Compare(a.Range.Start.Line, b.Range.Start.Line),
			cmp.Compare(a.Range.Start.Character, b.Range.Start.Character))
	})
	return list, results
}

// examine evaluates a file.
func (s *server) examine(ctx context.Context, f *file) (*diagnosed, map[string]*result) {
	d := &diagnosed{file: f}
	if s.workspace.skip(f.path) != "" {
		return d, nil
	}
	documents, results := s.workspace.examine(ctx, f.text, s.storedOf(ctx, f), f.results)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		late := &finding{severity: severityError, code: codeUnchecked,
			message: "the file was not checked within " + itemTimeout.String()}
		d.list = append(d.list, diagnosedFinding{late, Diagnostic{
			Severity: late.severity, Code: late.code, Source: "crdeval", Message: late.message,
		}, 0, nil})
		return d, results
	}
	if isTemplate(f.text, documents) {
		return d, results
	}
	d.lines, d.docs = newLineIndex(f.text), outline(f.text)
	for _, of := range documents {
		for i := range of.findings {
			found := &of.findings[i]
			d.list = append(d.list, diagnosedFinding{found, s.diagnostic(d, found, of.begin, of.line), of.begin, of.text})
		}
	}
	return d, results
}

// isTemplate reports whether no document of a file can be read, and it contains {{, as crdeval check does.
func isTemplate(text []byte, documents []located) bool {
	readable := func(l located) bool { return len(l.findings) != 1 || !l.findings[0].syntax }
	return len(documents) > 0 && bytes.Contains(text, []byte("{{")) && !slices.ContainsFunc(documents, readable)
}

// diagnostic returns the diagnostic of a finding. begin and line are those of its document.
func (s *server) diagnostic(d *diagnosed, f *finding, begin, line int) Diagnostic {
	from, to := f.span(d.file.text, d.docs, begin)
	out := Diagnostic{
		Range: d.lines.rangeOf(from, to), Severity: f.severity, Code: f.code, Source: "crdeval", Message: f.text(line),
		CodeDescription: &codeDescription{docsURL},
	}
	if f.code == codeRule || f.code == codeCost {
		out.CodeDescription.Href = rulesURL
	}
	if s.client.TextDocument.PublishDiagnostics.RelatedInformation && f.crd != nil && f.schema != "" {
		if related, ok := f.crd.keyword(f.version, f.schema); ok {
			message := "The schema of " + f.crd.name
			if f.rule != "" {
				message = "Rule: " + strings.Join(strings.Fields(f.rule), " ")
			}
			out.RelatedInformation = []relatedInformation{{related, message}}
		}
	}
	return out
}

// keyword returns the location of a keyword of a version's schema in the file of the CRD.
func (c *crdSource) keyword(version, pointer string) (Location, bool) {
	i := slices.IndexFunc(c.versions, func(v crdVersion) bool { return v.Name == version })
	if i < 0 || strings.Contains(c.file, "://") {
		return Location{}, false
	}
	c.mu.Lock()
	if c.lines == nil {
		c.lines, c.docs = newLineIndex(c.whole), outline(c.whole)
	}
	c.mu.Unlock()
	f := finding{
		item: c.manifest.Item, offset: -1, pointer: "/spec/versions/" + strconv.Itoa(i) + "/schema/openAPIV3Schema" + pointer,
	}
	if _, exact := f.node(c.docs, c.begin); !exact {
		return Location{}, false
	}
	begin, end := f.span(c.whole, c.docs, c.begin)
	return Location{URI: uriOf(c.file), Range: c.lines.rangeOf(begin, end)}, true
}
