package lsp

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/cmd/crdeval/repository"
	"github.com/crdeval/crdeval/server/editor/diagnosis"
)

// docsURL is the page that describes the codes of diagnostics.
const docsURL = "https://github.com/crdeval/crdeval/blob/main/docs/editors.md#diagnostics"

// rulesURL is the page about rules.
const rulesURL = "https://github.com/crdeval/crdeval/blob/main/docs/rules.md"

// severities are those of the protocol.
var severities = map[diagnosis.Severity]int{
	diagnosis.Error: severityError, diagnosis.Warning: severityWarning, diagnosis.Information: severityInformation,
}

// diagnosed are the findings of an open file, with what is needed for ranges and fixes.
type diagnosed struct {
	lines *lineIndex
	list  []diagnosedFinding
	crds  map[*workspace.CRD]*crdText
}

type diagnosedFinding struct {
	*finding
	diagnostic Diagnostic
	manifest   *workspace.Manifest // nil: the finding is about the file
}

// crdText finds places in a CRD.
type crdText struct {
	*diagnosis.Document
	lines *lineIndex
}

// diagnose returns the diagnostics of a file, and the results for the next call.
func (s *server) diagnose(ctx context.Context, f *file, of *workspace.File) ([]Diagnostic, map[string]*result) {
	d, results := s.examine(ctx, f, of)
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
func (s *server) examine(ctx context.Context, f *file, of *workspace.File) (*diagnosed, map[string]*result) {
	d := &diagnosed{lines: newLineIndex(f.text), crds: map[*workspace.CRD]*crdText{}}
	documents, results := s.workspace.examine(ctx, of, s.storedOf(ctx, f), f.results)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		late := &finding{Finding: diagnosis.Finding{
			Type: diagnosis.NotChecked, Message: "the file was not checked within " + itemTimeout.String(),
		}}
		d.list = append(d.list, diagnosedFinding{late, s.diagnostic(d, late, nil), nil})
		return d, results
	}
	for _, l := range documents {
		for i := range l.findings {
			found := &l.findings[i]
			m := l.manifests[found.manifest]
			d.list = append(d.list, diagnosedFinding{found, s.diagnostic(d, found, m), m})
		}
	}
	return d, results
}

// diagnostic returns the diagnostic of a finding about a manifest.
func (s *server) diagnostic(d *diagnosed, f *finding, m *workspace.Manifest) Diagnostic {
	begin := 0
	if m != nil {
		begin, _ = m.Extent()
	}
	out := Diagnostic{
		Range: d.lines.rangeOf(begin+f.start, begin+f.end), Severity: severities[f.Severity], Code: f.Type, Source: "crdeval",
		Message: f.Sentence(), CodeDescription: &codeDescription{docsURL},
	}
	if f.Type == diagnosis.Rule || f.Type == diagnosis.RuleCost {
		out.CodeDescription.Href = rulesURL
	}
	if s.client.TextDocument.PublishDiagnostics.RelatedInformation && f.CRD != nil && f.SchemaPointer != "" {
		if related, ok := s.keyword(d, f, m); ok {
			message := "The schema of " + f.CRD.Name
			if f.Rule != "" {
				message = "Rule: " + strings.Join(strings.Fields(f.Rule), " ")
			}
			out.RelatedInformation = []relatedInformation{{related, message}}
		}
	}
	return out
}

// keyword returns the location of the keyword in the CRD that a finding is about.
func (s *server) keyword(d *diagnosed, f *finding, m *workspace.Manifest) (l Location, ok bool) {
	list := slices.Concat(s.workspace.set().Ranked(m.APIVersion, m.Kind, m.Path())...)
	same := func(c *workspace.CRD) bool { return c.Compiled() == f.CRD.Compiled() } // it may have moved in its file
	i := slices.IndexFunc(list, same)
	if i < 0 || list[i].Path() == "" {
		return l, false
	}
	c := list[i]
	version := slices.Index(c.VersionNames(), workspace.VersionOf(m.APIVersion))
	of := d.crds[c]
	if of == nil {
		of = &crdText{diagnosis.New(c.Manifest, 0), newLineIndex(c.Text().Bytes())}
		d.crds[c] = of
	}
	pointer := "/spec/versions/" + strconv.Itoa(version) + "/schema/openAPIV3Schema" + f.SchemaPointer
	if _, ok = of.Find(pointer); !ok {
		return l, false
	}
	start, end := of.RangeOf(&diagnosis.Finding{Pointer: pointer})
	return Location{uriOf(repository.NameOf(c.Path())), of.lines.rangeOf(of.Begin+start, of.Begin+end)}, true
}
