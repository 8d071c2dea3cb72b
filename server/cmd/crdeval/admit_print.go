package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/crdeval/crdeval/engine"
)

// printer prints what became of CRDs and objects. Each form of output is one.
type printer interface {
	crd(j *judgement) error // of CRDs about which there is something to say
	object(o *outcome) error
	close(ctx context.Context, by admitter, total *tally) error
}

func (c *admitCommand) printer(env environment) printer {
	switch c.Output {
	case "json":
		return jsonPrinter{env.stdout}
	case "junit":
		return &junitPrinter{w: env.stdout}
	case "text":
		return &textPrinter{w: env.stdout, explain: c.Explain, quiet: c.Quiet}
	}
	return &objectsPrinter{w: env.stdout, others: &textPrinter{w: env.stderr, explain: c.Explain}, command: c}
}

// jsonPrinter prints a JSON object an outcome, a line each.
type jsonPrinter struct{ w io.Writer }

func (p jsonPrinter) crd(j *judgement) error                        { return json.NewEncoder(p.w).Encode(j) }
func (p jsonPrinter) object(o *outcome) error                       { return json.NewEncoder(p.w).Encode(o) }
func (p jsonPrinter) close(context.Context, admitter, *tally) error { return nil }

// textPrinter prints lines for people.
type textPrinter struct {
	w              io.Writer
	explain, quiet bool
}

func (p *textPrinter) crd(j *judgement) error { return printJudgement(p.w, j) }

func (p *textPrinter) object(o *outcome) error {
	var b bytes.Buffer
	where := o.source.where()
	if o.Error != "" {
		_, err := p.w.Write(printable(fmt.Appendf(nil, "%s:%d: %s: error: %s\n", o.File, o.Line, o.title(), o.Error)))
		return err
	}
	if p.quiet && o.Allowed && len(o.Warnings) == 0 {
		return nil
	}
	verdict := "allowed"
	if !o.Allowed {
		verdict = "refused"
	}
	if o.Operation != "CREATE" {
		verdict += " as " + map[string]string{"UPDATE": "an update", "PATCH": "a patch"}[o.Operation]
	}
	if o.Deletes {
		verdict += ", which deletes it: its last finalizer is gone"
	}
	fmt.Fprintf(&b, "%s: %s: %s\n", where, o.title(), verdict)
	if o.Refusal != nil && len(o.Violations) == 0 {
		fmt.Fprintf(&b, "  %s: %s\n", o.place(nil), o.Refusal.Message)
	}
	for i := range o.Violations {
		p.finding(&b, o, &o.Violations[i], "")
	}
	if p.explain {
		for i := range o.Forgiven {
			p.finding(&b, o, &o.Forgiven[i], "forgiven, since it is as it was: ")
		}
	}
	for i := range o.Pruned {
		if f := &o.Pruned[i]; p.explain || !o.Allowed || f.Hint != nil {
			fmt.Fprintf(&b, "  %s: unknown field %s\n", o.place(f.Position), f.Path)
			printHint(&b, f.Hint)
		}
	}
	for i := range o.Defaulted {
		if f := &o.Defaulted[i]; p.explain {
			fmt.Fprintf(&b, "  filled in: %s: %s\n", f.Path, f.Value)
		}
	}
	for _, warning := range o.Warnings {
		fmt.Fprintf(&b, "  warning: %s\n", warning)
	}
	if p.explain {
		for i := range o.traces {
			printTrace(&b, &o.traces[i])
		}
	}
	_, err := p.w.Write(printable(b.Bytes()))
	return err
}

func (p *textPrinter) finding(b *bytes.Buffer, o *outcome, v *finding, prefix string) {
	fmt.Fprintf(b, "  %s: %s%s\n", o.place(v.Position), prefix, v.text())
	printHint(b, v.Hint)
}

func printHint(b *bytes.Buffer, h *hint) {
	if h != nil {
		fmt.Fprintf(b, "    hint: %s\n", h.Text)
	}
}

// printTrace prints what the parts of a rule were.
func printTrace(b *bytes.Buffer, t *engine.RuleTrace) {
	fmt.Fprintf(b, "  rule %s\n", strings.Join(strings.Fields(t.Rule.Text), " "))
	for i := range t.Steps {
		s := &t.Steps[i]
		value := string(s.Value)
		switch {
		case s.Error != "":
			value = "error: " + s.Error
		case s.Value == nil:
			value = "(too long to print)"
		}
		fmt.Fprintf(b, "    %s = %s\n", strings.Join(strings.Fields(s.Expression), " "), value)
	}
	if t.OmittedSteps > 0 {
		fmt.Fprintf(b, "    and %s more\n", counted(t.OmittedSteps, "step", "steps"))
	}
}

func (p *textPrinter) close(_ context.Context, _ admitter, total *tally) error {
	objects := total.allowed + total.refused
	if objects+total.failed+total.passed == 0 && total.crds > 0 {
		_, err := fmt.Fprintf(p.w, "%s: %d accepted, %d refused\n", counted(total.crds, "CRD", "CRDs"), total.crds-total.crdsRefused, total.crdsRefused)
		return err
	}
	if objects < 2 && total.passed == 0 || objects == 0 {
		return nil
	}
	passed := ""
	if total.passed > 0 {
		passed = "; passed over: " + counted(total.passed, "document of another kind", "documents of other kinds")
	}
	_, err := fmt.Fprintf(p.w, "%s: %d allowed, %d refused%s\n", counted(objects, "object", "objects"), total.allowed, total.refused, passed)
	return err
}
