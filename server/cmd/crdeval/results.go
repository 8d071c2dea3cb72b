package main

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/input"
	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/report"
	"github.com/crdeval/crdeval/server/repository"
)

// problem is a problem of a report.
type problem report.Problem

// violation returns p with the content of a violation.
func (p problem) violation(v *crdevalv1.Violation) problem {
	p.Text, p.Hint = violationText(v), v.GetHint().GetText()
	p.Pointer, p.SchemaPointer = v.GetPointer(), v.GetSchemaPointer()
	p.Rule = v.GetRule().GetRule()
	p.Kind = cmp.Or(v.GetType(), report.InternalError)
	if v.GetRule() != nil {
		p.Kind = report.Rule
	}
	return p
}

// position returns p with a position. If it is nil, p keeps its own.
func (p problem) position(at *crdevalv1.Position) problem {
	if at != nil {
		p.Line, p.Column = int(at.GetLine()), int(at.GetColumn())
	}
	return p
}

// with returns p with a level, kind and text.
func (p problem) with(l report.Level, kind, text string) problem {
	p.Level, p.Kind, p.Text = l, kind, text
	return p
}

// problems collects the problems of a document.
type problems []report.Problem

func (list *problems) add(p problem) { *list = append(*list, report.Problem(p)) }

// result returns the result for a CRD or for conversion rules.
func (j *crdReport) result() *report.Result {
	answer := j.Report.message
	r := &report.Result{
		File: j.File, Line: cmp.Or(j.Line, j.source.Line()), Name: cmp.Or(j.Name, j.source.Where()),
		Class: workspace.CRDKind, Warnings: textsOf(answer.GetWarnings()), Skipped: j.Skipped, Error: j.Error,
		Failed: !j.Accepted, Message: answer.GetRejection().GetMessage(), Reason: answer.GetRejection().GetReason(),
	}
	if j.source.Conversion {
		r.Class, r.Reason = report.ConversionRules, "Invalid"
		r.Message = "the conversion rules of " + j.Name + " are rejected"
	}
	if j.Skipped == "" {
		r.Problems = j.problems(r.Line)
	}
	return r
}

func (j *crdReport) problems(line int) (list problems) {
	p := problem{File: j.File, Line: line, Level: report.LevelError, Document: cmp.Or(j.Name, j.source.Title())}
	if j.source.Number == 0 { // an unreadable file
		p.Document = j.File
	}
	if j.Error != "" {
		list.add(p.with(report.LevelError, report.NotChecked, j.Error))
		return list
	}
	answer := j.Report.message
	for _, v := range answer.GetViolations() {
		list.add(p.position(v.GetPosition()).violation(v))
	}
	if r := answer.GetRejection(); r != nil && len(list) == 0 {
		list.add(p.with(report.LevelError, report.Rejected, r.GetMessage()))
	}
	for _, v := range j.Conversion.message.GetViolations() {
		of := p.position(v.GetPosition()).violation(v)
		of.Kind = report.ConversionRules
		list.add(of)
	}
	for _, text := range j.brokenLaws() {
		list.add(p.with(report.LevelError, report.ConversionRules, text))
	}
	if c := j.Names.message; c != nil {
		list.add(p.with(report.LevelWarning, report.NamesNotAccepted, c.GetReason()+": "+c.GetMessage()))
	}
	for _, warning := range answer.GetWarnings() {
		list.add(p.position(warning.GetPosition()).warning(warning))
	}
	for _, v := range answer.GetConversion().GetViolations() {
		list.add(p.with(report.LevelWarning, report.ConversionRules, unfitRules+violationText(v)))
	}
	return list
}

// result returns the result for an object.
func (o *outcome) result() *report.Result {
	verdict := o.Verdict.message
	r := &report.Result{
		File: o.File, Line: o.Line, Name: o.title(), Class: o.Kind, Warnings: textsOf(verdict.GetWarnings()),
		Skipped: o.Skipped, Error: o.Error, Failed: !o.allowed(),
		Message: verdict.GetRejection().GetMessage(), Reason: verdict.GetRejection().GetReason(),
	}
	if group := input.GroupOf(o.write.apiVersion); group != "" {
		r.Class += "." + group
	}
	if o.Skipped == "" {
		r.Problems = o.problems()
	}
	return r
}

func (o *outcome) problems() (list problems) {
	p := problem{File: o.File, Line: o.Line, Level: report.LevelError, Document: o.title()}
	if o.Error != "" {
		list.add(p.with(report.LevelError, report.NotChecked, o.Error))
		return list
	}
	position := p.position
	switch o.patchName {
	case "":
	case inlinePatch: // it has no file
		position = func(*crdevalv1.Position) problem { return p }
	default:
		position = func(at *crdevalv1.Position) problem {
			of := p.position(at)
			if at != nil {
				of.File = o.patchName
			}
			return of
		}
	}
	verdict := o.Verdict.message
	for _, v := range verdict.GetViolations() {
		list.add(position(v.GetPosition()).violation(v))
	}
	for _, v := range o.Next {
		list.add(position(v.message.GetPosition()).violation(v.message))
	}
	known := map[string]bool{} // unknown fields that reject the object or are warned about
	for _, v := range verdict.GetViolations() {
		known[v.GetPointer()] = v.GetType() == engine.TypeUnknownField || known[v.GetPointer()]
	}
	for _, w := range verdict.GetWarnings() {
		list.add(position(w.GetPosition()).warning(w))
		known[w.GetPointer()] = w.GetType() == engine.TypeUnknownField || known[w.GetPointer()]
	}
	for _, f := range verdict.GetChanges().GetPruned() { // of --field-validation ignore
		of := position(f.GetPosition()).with(report.LevelNote, report.UnknownField, "unknown field "+f.GetPath())
		of.Hint, of.Pointer = f.GetHint().GetText(), f.GetPointer()
		if !known[f.GetPointer()] && of.Hint != "" {
			list.add(of)
		}
	}
	return list
}

// warning returns p with a warning of the API server.
func (p problem) warning(w *crdevalv1.Warning) problem {
	kind := report.Warning
	switch w.GetType() {
	case engine.TypeUnknownField:
		kind = report.UnknownField
	case engine.TypeDuplicateField:
		kind = report.DuplicateField
	case engine.TypeWarning:
		if w.GetPosition() == nil && isDuplicateField(w.GetText()) { // of a CRD
			return p.atLineOf(w.GetText()).with(report.LevelWarning, report.DuplicateField, w.GetText())
		}
	}
	p.Hint, p.Pointer = w.GetHint().GetText(), w.GetPointer()
	return p.with(report.LevelWarning, kind, w.GetText())
}

// isDuplicateField recognises what the decoders of JSON and of YAML report.
func isDuplicateField(text string) bool {
	return strings.Contains(text, `duplicate field "`) || strings.Contains(text, "already set in map")
}

var lineOfText = regexp.MustCompile(`\bline (\d+)`)

// atLineOf returns p at the line that the text names, if it names one.
func (p problem) atLineOf(text string) problem {
	if m := lineOfText.FindStringSubmatch(text); m != nil {
		p.Line, _ = strconv.Atoi(m[1])
	}
	return p
}

// reportPrinter prints results for a CI system.
type reportPrinter struct {
	report.Printer
	counts func(*tally) string
}

func (p reportPrinter) crd(j *crdReport) error  { return p.Add(j.result()) }
func (p reportPrinter) object(o *outcome) error { return p.Add(o.result()) }

func (p reportPrinter) close(t *tally) error {
	return p.Close(&report.Run{Counts: p.counts(t), Skipped: t.files, Errors: t.errors()})
}

// program describes a command to printers of reports.
func program(command string) report.Program {
	return report.Program{Title: "crdeval " + command, Version: version, Root: repository.Root()}
}
