package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// printer prints the results of admit in one format.
type printer interface {
	crd(*crdReport) error // only for a CRD with a message
	object(*outcome) error
	close(context.Context, *admission, *tally) error
}

func (c *admitCommand) printer(env environment) printer {
	switch c.Output {
	case "json":
		return jsonPrinter{env.stdout}
	case "junit":
		return &junitPrinter{w: env.stdout}
	case "text":
		return &textPrinter{w: env.stdout, command: c}
	}
	return &objectsPrinter{w: env.stdout, messages: &textPrinter{w: env.stderr, command: c}, command: c}
}

// jsonPrinter prints a line for each CRD and object.
type jsonPrinter struct{ w io.Writer }

func (p jsonPrinter) crd(j *crdReport) error                          { return json.NewEncoder(p.w).Encode(j) }
func (p jsonPrinter) object(o *outcome) error                         { return json.NewEncoder(p.w).Encode(o) }
func (p jsonPrinter) close(context.Context, *admission, *tally) error { return nil }

type textPrinter struct {
	w       io.Writer
	command *admitCommand
}

func (p *textPrinter) crd(j *crdReport) error { return j.print(p.w) }

var operationText = map[string]string{"CREATE": "", "UPDATE": " as an update", "PATCH": " as a patch"}

func (p *textPrinter) object(o *outcome) error {
	var b bytes.Buffer
	switch explain := p.command.Explain; {
	case o.Skipped != "" && p.command.Verbose:
		fmt.Fprintf(&b, "%s:%d: %s: skipped: %s\n", o.File, o.Line, o.title(), o.Skipped)
	case o.Skipped != "", p.command.Quiet && o.Allowed && len(o.Warnings) == 0:
	case o.Error != "":
		fmt.Fprintf(&b, "%s:%d: %s: error: %s\n", o.File, o.Line, o.title(), o.Error)
	default:
		o.printHead(&b)
		o.printViolations(&b, explain)
		for i := range o.Pruned {
			if f := &o.Pruned[i]; explain || !o.Allowed || f.Hint != nil {
				o.printLine(&b, f.Position, "unknown field "+f.Path, f.Hint)
			}
		}
		for i := range o.Next {
			v := &o.Next[i]
			o.printLine(&b, v.Position, v.text(), v.Hint)
		}
		for i := range o.Defaulted {
			if f := &o.Defaulted[i]; explain {
				fmt.Fprintf(&b, "  defaulted: %s: %s\n", f.Path, f.Value)
			}
		}
		for _, warning := range o.Warnings {
			fmt.Fprintf(&b, "  warning: %s\n", warning)
		}
		for _, t := range o.traces {
			printTrace(&b, t)
		}
	}
	_, err := p.w.Write(printable(b.Bytes()))
	return err
}

func (o *outcome) printHead(b *bytes.Buffer) {
	verdict := "rejected"
	if o.Allowed {
		verdict = "allowed"
	}
	verdict += operationText[o.Operation]
	if o.Deletes {
		verdict += "; removing the last finalizer deletes the object"
	}
	fmt.Fprintf(b, "%s: %s: %s\n", o.write.where(), o.title(), verdict)
}

func (o *outcome) printViolations(b *bytes.Buffer, explain bool) {
	if o.Rejection != nil && len(o.Violations) == 0 {
		o.printLine(b, nil, o.Rejection.Message, nil)
	}
	for i := range o.Violations {
		v := &o.Violations[i]
		o.printLine(b, v.Position, v.text(), v.Hint)
	}
	for i := range o.Ratcheted {
		if v := &o.Ratcheted[i]; explain {
			o.printLine(b, v.Position, "ratcheted: "+v.text(), v.Hint)
		}
	}
}

func (o *outcome) printLine(b *bytes.Buffer, p *position, text string, h *hint) {
	fmt.Fprintf(b, "  %s: %s\n", o.placed(p), text)
	if h != nil {
		fmt.Fprintf(b, "    hint: %s\n", h.Text)
	}
}

// printTrace prints the values of the parts of a rule.
func printTrace(b *bytes.Buffer, t *crdevalv1.RuleTrace) {
	oneLine := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	fmt.Fprintf(b, "  rule %s\n", oneLine(t.GetRule().GetRule()))
	for _, s := range t.GetSteps() {
		value := string(rawJSON(s.GetValue()))
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

func (p *textPrinter) close(_ context.Context, _ *admission, total *tally) error {
	summary := total.objectSummary()
	if total.objects() == 0 && total.crds > 0 {
		summary = total.crdSummary() + "\n" + summary
	}
	_, err := fmt.Fprintln(p.w, summary)
	return err
}
