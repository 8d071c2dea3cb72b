package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/rules"
	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/cmd/crdeval/terminal"
	"github.com/crdeval/crdeval/server/editor/diagnosis"
)

// jsonPrinter prints a line for each CRD and object.
type jsonPrinter struct{ w io.Writer }

func (p jsonPrinter) crd(j *crdReport) error { return json.NewEncoder(p.w).Encode(j) }

// object prints a line for each answer: several CRDs can have different ones.
func (p jsonPrinter) object(o *outcome) error {
	for _, line := range o.lines() {
		if err := json.NewEncoder(p.w).Encode(line); err != nil {
			return err
		}
	}
	return nil
}

// close prints a line for each skipped file, and the summary.
func (p jsonPrinter) close(t *tally) error {
	for _, f := range t.files {
		line := struct {
			documentID
			Skipped string `json:"skipped"`
		}{documentID{File: f.Name}, f.Skip.Kind + ": " + f.Skip.Reason}
		if err := json.NewEncoder(p.w).Encode(line); err != nil {
			return err
		}
	}
	return json.NewEncoder(p.w).Encode(map[string]any{"summary": t.summary()})
}

// textPrinter prints results for people.
type textPrinter struct {
	w       io.Writer
	command *admitCommand
	quiet   bool            // print only objects with violations, warnings or errors
	several map[string]bool // files of CRDs of which the output says that their answers are the same
}

func (p *textPrinter) crd(j *crdReport) error { return j.print(p.w) }

var operationText = map[string]string{"CREATE": "", "UPDATE": " as an update", "PATCH": " as a patch"}

func (p *textPrinter) object(o *outcome) error {
	var b bytes.Buffer
	switch {
	case o.Skipped != "" && p.command.Verbose:
		fmt.Fprintf(&b, "%s: %s: skipped: %s\n", o.line(), o.title(), messageText(o.Skipped))
	case o.Class == workspace.ClassBuiltIn && p.command.Verbose:
		fmt.Fprintf(&b, "%s: %s: not checked: %s is a built-in kind\n", o.line(), o.title(), terminal.OneLine(o.Kind))
	case o.Skipped != "", o.Class == workspace.ClassBuiltIn:
	case o.err != nil && o.Number == 0: // a file
		fmt.Fprintf(&b, "%s: error: %s\n", terminal.OneLine(o.File), messageText(o.Error))
	case o.failure() != nil && len(o.answers) < 2 && p.listed(o):
		fmt.Fprintf(&b, "%s: %s: error: %s\n", o.line(), o.title(), messageText(o.failure().Error()))
	case o.failure() != nil && len(o.answers) < 2:
	case len(o.answers) > 1:
		fmt.Fprintf(&b, "%s: %s: error: %v\n", o.line(), o.title(), errDiffering)
		for i := range o.answers {
			p.answer(&b, o, &o.answers[i], "  with the CRD in "+o.answers[i].Files()+": ", "  ")
		}
	case p.quiet && o.allowed() && len(o.verdict().Warnings) == 0 && len(o.answers[0].CRDs) == 1:
	default:
		p.answer(&b, o, &o.answers[0], fmt.Sprintf("%s: %s: ", where(o.write.Manifest), o.title()), "")
		p.sameAnswers(&b, o)
	}
	if b.Len() == 0 {
		return nil
	}
	_, err := p.w.Write(printable(b.Bytes()))
	return err
}

// listed reports whether an error is printed. The summary has the objects without a CRD of a repository.
func (p *textPrinter) listed(o *outcome) bool {
	without, ok := o.err.(*workspace.WithoutCRDError) //nolint:errorlint // it is not wrapped
	quiet := p.command.Repository || p.command.AllowMissingCRDs
	return !ok || !quiet || p.command.Verbose || without.Similar != ""
}

// line returns the file and the line of an object.
func (o *outcome) line() string { return errorPlace(o.write.Manifest, o.onLine(), o.Column) }

// sameAnswers says once that several CRDs apply to objects.
func (p *textPrinter) sameAnswers(b *bytes.Buffer, o *outcome) {
	if len(o.answers[0].CRDs) < 2 {
		return
	}
	files := o.answers[0].Files()
	if !p.several[files] {
		if p.several == nil {
			p.several = map[string]bool{}
		}
		p.several[files] = true
		fmt.Fprintf(b, "  warning: several CRDs apply to %s, with the same answer: %s\n", terminal.OneLine(o.Kind), files)
	}
}

// answer prints a verdict, or why the object was not evaluated, after the text before. All lines begin with an indentation.
func (p *textPrinter) answer(b *bytes.Buffer, o *outcome, a *workspace.Answer, before, indent string) {
	if a.Err != nil {
		fmt.Fprintf(b, "%serror: %s\n", before, messageText(a.Err.Error()))
		return
	}
	v, text := a.Verdict, "rejected"
	if v.Allowed {
		text = "allowed"
	}
	text += operationText[o.Operation]
	if v.Deletes {
		text += "; removing the last finalizer deletes the object"
	}
	fmt.Fprintf(b, "%s%s\n", before, text)
	for _, f := range diagnosis.OfVerdict(v) {
		p.finding(b, o, &f, indent)
	}
	if p.command.Explain {
		for _, c := range v.Pruned {
			if !v.Allowed || len(v.Warnings) > 0 {
				break // they are in the findings
			}
			fmt.Fprintf(b, "%s  %s: removed: %s\n", indent, o.positionText(c.Position), terminal.OneLine(c.Path))
		}
		for _, c := range v.Defaulted {
			fmt.Fprintf(b, "%s  defaulted: %s: %s\n", indent, terminal.OneLine(c.Path), c.Value)
		}
	}
	for i := range v.Traces {
		printTrace(b, &v.Traces[i])
	}
}

// finding prints a finding with its hint.
func (p *textPrinter) finding(b *bytes.Buffer, o *outcome, f *diagnosis.Finding, indent string) {
	switch at := o.positionText(f.Position); {
	case f.Ratcheted && p.command.Explain:
		fmt.Fprintf(b, "%s  %s: ratcheted: %s\n", indent, at, messageText(f.Text()))
	case f.Ratcheted && f.Severity != diagnosis.Warning:
		return
	case f.Severity != diagnosis.Warning:
		fmt.Fprintf(b, "%s  %s: %s\n", indent, at, messageText(f.Text()))
	case f.Position == nil:
		fmt.Fprintf(b, "%s  warning: %s\n", indent, messageText(f.Text()))
	default:
		fmt.Fprintf(b, "%s  %s: warning: %s\n", indent, at, messageText(f.Text()))
	}
	if f.Hint != nil {
		fmt.Fprintf(b, "%s    hint: %s\n", indent, terminal.OneLine(f.Hint.Text))
	}
}

// positionText formats a position like a compiler; nil is the position of the object.
func (o *outcome) positionText(p *engine.Position) string {
	file := terminal.OneLine(o.File)
	switch {
	case p == nil:
		return fmt.Sprintf("%s:%d", file, o.onLine())
	case o.patchName != "":
		file = terminal.OneLine(o.patchName)
	}
	return fmt.Sprintf("%s:%d:%d", file, p.Line, p.Column)
}

// printTrace prints the values of the parts of a rule.
func printTrace(b *bytes.Buffer, t *rules.Trace) {
	oneLine := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	fmt.Fprintf(b, "  rule %s\n", oneLine(t.Rule.Text))
	for _, s := range t.Steps {
		value := string(s.Value)
		switch {
		case s.Error != "":
			value = "error: " + s.Error
		case s.Value == nil:
			value = "(omitted: too long)"
		}
		fmt.Fprintf(b, "    %s = %s\n", oneLine(s.Expression), value)
	}
	if t.OmittedSteps > 0 {
		fmt.Fprintf(b, "    and %s more\n", counted(t.OmittedSteps, "step"))
	}
}

func (p *textPrinter) close(total *tally) error {
	_, err := fmt.Fprint(p.w, total.skippedLines(p.command.Verbose), total.writesSummary(), "\n")
	return err
}
