package main

import (
	"cmp"
	"strings"

	"github.com/crdeval/crdeval/engine/workspace"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/cmd/crdeval/output"
	"github.com/crdeval/crdeval/server/cmd/crdeval/repository"
	"github.com/crdeval/crdeval/server/editor/diagnosis"
)

// problem is a problem of a report.
type problem output.Problem

// violation returns p with the content of a violation.
func (p problem) violation(v *crdevalv1.Violation) problem {
	p.Text, p.Hint = violationText(v), v.GetHint().GetText()
	p.Pointer, p.SchemaPointer = v.GetPointer(), v.GetSchemaPointer()
	p.Rule = v.GetRule().GetRule()
	p.Kind = cmp.Or(v.GetType(), output.InternalError)
	if v.GetRule() != nil {
		p.Kind = output.Rule
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
func (p problem) with(l output.Level, kind, text string) problem {
	p.Level, p.Kind, p.Text = l, kind, text
	return p
}

// levels are the levels of findings.
var levels = map[diagnosis.Severity]output.Level{
	diagnosis.Error: output.LevelError, diagnosis.Warning: output.LevelWarning, diagnosis.Information: output.LevelNote,
}

// finding returns p with the content of a finding.
func (p problem) finding(f *diagnosis.Finding) problem {
	p = p.with(levels[f.Severity], cmp.Or(f.Type, output.InternalError), f.Text())
	p.Pointer, p.SchemaPointer, p.Rule = f.Pointer, f.SchemaPointer, f.Rule
	if f.Hint != nil {
		p.Hint = f.Hint.Text
	}
	if f.Position != nil {
		p.Line, p.Column = f.Position.Line, f.Position.Column
	}
	return p
}

// problems collects the problems of a document.
type problems []output.Problem

func (list *problems) add(p problem) { *list = append(*list, output.Problem(p)) }

// result returns the result for a CRD or for conversion rules.
func (j *crdReport) result() *output.Result {
	answer := j.Report.message
	r := &output.Result{
		File: j.File, Line: cmp.Or(j.Line, j.source.Line()), Name: cmp.Or(j.Name, where(j.source)),
		Class: workspace.CRDKind, Warnings: strings.Join(warningTexts(answer), "\n"), Skipped: j.Skipped, Error: j.Error,
		Failed: !j.Accepted, Message: answer.GetRejection().GetMessage(), Reason: answer.GetRejection().GetReason(),
	}
	if j.source.Conversion {
		r.Class, r.Reason = output.ConversionRules, "Invalid"
		r.Message = "the conversion rules of " + j.Name + " are rejected"
	}
	if j.Skipped == "" {
		r.Problems = j.problems(r.Line)
	}
	return r
}

func (j *crdReport) problems(line int) (list problems) {
	p := problem{File: j.File, Line: line, Level: output.LevelError, Document: cmp.Or(j.Name, titleOf(j.source))}
	if j.source.Number == 0 { // an unreadable file
		p.Document = j.File
	}
	if j.Error != "" {
		list.add(p.with(output.LevelError, output.NotChecked, j.Error))
		return list
	}
	answer := j.Report.message
	for _, v := range answer.GetViolations() {
		list.add(p.position(v.GetPosition()).violation(v))
	}
	for _, v := range j.Conversion.message.GetViolations() {
		of := p.position(v.GetPosition()).violation(v)
		of.Kind = output.ConversionRules
		list.add(of)
	}
	for _, text := range j.brokenLaws() {
		list.add(p.with(output.LevelError, output.ConversionRules, text))
	}
	if c := j.Names.message; c != nil {
		list.add(p.with(output.LevelWarning, output.NamesNotAccepted, c.GetReason()+": "+c.GetMessage()))
	}
	for _, w := range answer.GetWarnings() {
		of := p.position(w.GetPosition()).with(output.LevelWarning, w.GetType(), w.GetText())
		of.Pointer, of.Hint = w.GetPointer(), w.GetHint().GetText()
		list.add(of)
	}
	for _, v := range answer.GetConversion().GetViolations() {
		list.add(p.with(output.LevelWarning, output.ConversionRules, unfitRules+violationText(v)))
	}
	return list
}

// result returns the result for an object.
func (o *outcome) result() *output.Result {
	r := &output.Result{
		File: o.File, Line: o.onLine(), Name: o.title(), Class: o.Kind, Skipped: o.Skipped, Failed: !o.allowed(),
	}
	if err := o.failure(); err != nil {
		r.Error = err.Error()
	}
	if v := o.verdict(); v != nil {
		var texts []string
		for _, w := range v.Warnings {
			texts = append(texts, w.Text)
		}
		if r.Warnings = strings.Join(texts, "\n"); v.Rejection != nil {
			r.Message, r.Reason = v.Rejection.Message, v.Rejection.Reason
		}
	}
	if group := workspace.GroupOf(o.write.apiVersion); group != "" {
		r.Class += "." + group
	}
	if o.Class == workspace.ClassBuiltIn {
		r.Skipped = "the kind is built in"
	}
	if r.Skipped == "" {
		r.Problems = o.problems()
	}
	return r
}

func (o *outcome) problems() (list problems) {
	p := problem{File: o.File, Line: o.onLine(), Level: output.LevelError, Document: o.title()}
	for _, f := range o.findings() {
		if f.Ratcheted && f.Severity != diagnosis.Warning {
			continue
		}
		of := p.finding(&f)
		switch {
		case o.patchName == "" || f.Position == nil:
		case o.patchName == inlinePatch: // it has no file
			of.Line, of.Column = p.Line, p.Column
		default:
			of.File = o.patchName
		}
		list.add(of)
	}
	return list
}

// warningTexts returns the texts of the warnings of a report.
func warningTexts(r *crdevalv1.CrdReport) (texts []string) {
	for _, w := range r.GetWarnings() {
		texts = append(texts, w.GetText())
	}
	return texts
}

// reportPrinter prints results for a CI system.
type reportPrinter struct {
	output.Printer
	command *admitCommand // nil for other commands
	counts  func(*tally) string
}

func (p reportPrinter) crd(j *crdReport) error { return p.Add(j.result()) }

// object prints a result. Objects without a CRD that may be missing are skipped.
func (p reportPrinter) object(o *outcome) error {
	r := o.result()
	if p.command != nil && p.command.AllowMissingCRDs && o.Class == workspace.ClassWithoutCRD {
		r.Skipped, r.Error, r.Problems = r.Error, "", nil
	}
	return p.Add(r)
}

func (p reportPrinter) close(t *tally) error { return p.Close(t.run(p.counts(t))) }

// program describes a command to printers of reports.
func program(command string) output.Program {
	return output.Program{Title: "crdeval " + command, Version: version, Root: repository.Root()}
}
