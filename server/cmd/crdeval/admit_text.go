package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/input"
	"github.com/crdeval/crdeval/server/terminal"
)

// jsonPrinter prints a line for each CRD and object.
type jsonPrinter struct{ w io.Writer }

func (p jsonPrinter) crd(j *crdReport) error  { return json.NewEncoder(p.w).Encode(j) }
func (p jsonPrinter) object(o *outcome) error { return json.NewEncoder(p.w).Encode(o) }

// close prints a line for each skipped file.
func (p jsonPrinter) close(t *tally) error {
	for _, s := range t.files {
		line := struct {
			input.Location
			Skipped string `json:"skipped"`
		}{input.Location{File: s.Name}, s.Reason}
		if err := json.NewEncoder(p.w).Encode(line); err != nil {
			return err
		}
	}
	return nil
}

type textPrinter struct {
	w       io.Writer
	command *admitCommand
}

func (p *textPrinter) crd(j *crdReport) error { return j.print(p.w) }

var operationText = map[string]string{"CREATE": "", "UPDATE": " as an update", "PATCH": " as a patch"}

func (p *textPrinter) object(o *outcome) error {
	var b bytes.Buffer
	switch v := o.Verdict.message; {
	case o.Skipped != "" && p.command.Verbose:
		fmt.Fprintf(&b, "%s:%d: %s: skipped: %s\n", terminal.OneLine(o.File), o.Line, o.title(), messageText(o.Skipped))
	case o.Skipped != "", p.command.Quiet && v.GetAllowed() && len(v.GetWarnings()) == 0:
	case o.Error != "":
		fmt.Fprintf(&b, "%s:%d: %s: error: %s\n", terminal.OneLine(o.File), o.Line, o.title(), messageText(o.Error))
	default:
		p.verdict(&b, o, v)
	}
	if b.Len() == 0 {
		return nil
	}
	_, err := p.w.Write(printable(b.Bytes()))
	return err
}

func (p *textPrinter) verdict(b *bytes.Buffer, o *outcome, v *crdevalv1.Verdict) {
	text := "rejected"
	if v.GetAllowed() {
		text = "allowed"
	}
	text += operationText[o.Operation]
	if v.GetDeletes() {
		text += "; removing the last finalizer deletes the object"
	}
	fmt.Fprintf(b, "%s: %s: %s\n", o.write.Where(), o.title(), text)
	line := func(at *crdevalv1.Position, text string, hint *crdevalv1.Hint) {
		fmt.Fprintf(b, "  %s: %s\n", o.positionText(at), text)
		if hint != nil {
			fmt.Fprintf(b, "    hint: %s\n", terminal.OneLine(hint.GetText()))
		}
	}
	reported := map[string]bool{} // unknown fields
	for _, f := range v.GetViolations() {
		reported[f.GetPointer()] = f.GetType() == engine.TypeUnknownField || reported[f.GetPointer()]
		line(f.GetPosition(), violationText(f), f.GetHint())
	}
	explain := p.command.Explain
	for _, f := range v.GetRatcheted() {
		if explain {
			line(f.GetPosition(), "ratcheted: "+violationText(f), f.GetHint())
		}
	}
	for _, c := range v.GetChanges().GetPruned() {
		if !reported[c.GetPointer()] && (explain || !v.GetAllowed() || c.GetHint() != nil) {
			line(c.GetPosition(), "unknown field "+terminal.OneLine(c.GetPath()), c.GetHint())
		}
	}
	for _, f := range o.Next {
		line(f.message.GetPosition(), violationText(f.message), f.message.GetHint())
	}
	for _, c := range v.GetChanges().GetDefaulted() {
		if explain {
			fmt.Fprintf(b, "  defaulted: %s: %s\n", terminal.OneLine(c.GetPath()), c.GetValue().GetJson())
		}
	}
	for _, warning := range v.GetWarnings() {
		fmt.Fprintf(b, "  warning: %s\n", messageText(warning.GetText()))
	}
	for _, t := range v.GetRuleTraces().GetTraces() {
		printTrace(b, t)
	}
}

// printTrace prints the values of the parts of a rule.
func printTrace(b *bytes.Buffer, t *crdevalv1.RuleTrace) {
	oneLine := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	fmt.Fprintf(b, "  rule %s\n", oneLine(t.GetRule().GetRule()))
	for _, s := range t.GetSteps() {
		value := string(s.GetValue().GetJson())
		switch {
		case s.GetError() != "":
			value = "error: " + s.GetError()
		case s.GetValue() == nil:
			value = "(omitted: too long)"
		}
		fmt.Fprintf(b, "    %s = %s\n", oneLine(s.GetExpression()), value)
	}
	if n := int(t.GetOmittedSteps()); n > 0 {
		fmt.Fprintf(b, "    and %s more\n", counted(n, "step"))
	}
}

func (p *textPrinter) close(total *tally) error {
	_, err := fmt.Fprint(p.w, total.skippedLines(p.command.Verbose), total.writesSummary(), "\n")
	return err
}
