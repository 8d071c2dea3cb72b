package mutation

import (
	"cmp"
	"fmt"
	"strings"
)

// target is a rule, or the other keywords of a field, with its mutants.
type target struct {
	mutants []*Mutant
	score   Score
}

// targets groups the mutants that ran by rule and field, in the order of their first mutants.
func (r *Report) targets() (all []*target) {
	known := map[string]*target{}
	for _, m := range r.Mutants {
		if m.Status == NotRun {
			continue
		}
		key := strings.Join([]string{m.CRD, m.Version, m.Field, m.Rule}, "\x00")
		t := known[key]
		if t == nil {
			t = &target{}
			known[key] = t
			all = append(all, t)
		}
		t.mutants = append(t.mutants, m)
		t.score.add(m)
	}
	return all
}

// title names the rule or the field.
func (t *target) title() string {
	first := t.mutants[0]
	title := cmp.Or(first.Field, "the object")
	if first.Rule != "" {
		title += ": rule " + oneLine(first.Rule)
	}
	return title
}

// position returns file and line of the first mutant.
func (m *Mutant) position() string {
	if m.Line == 0 {
		return m.File
	}
	return fmt.Sprintf("%s:%d", m.File, m.Line)
}

// counts lists the results that occur.
func (t *target) counts() string {
	var parts []string
	for _, of := range []struct {
		n    int
		text string
	}{{t.score.Killed, "killed"}, {t.score.Survived, "survived"}, {t.score.Equivalent, "possibly equivalent"},
		{t.score.Invalid, "invalid"}} {
		if of.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", of.n, of.text))
		}
	}
	return strings.Join(parts, ", ")
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// maxText bounds the text of a change or an answer.
const maxText = 400

// shortened returns a text on one line that is not too long.
func shortened(s string) string {
	if s = oneLine(s); len(s) > maxText {
		return strings.ToValidUTF8(s[:maxText], "") + "…"
	}
	return s
}

// Change describes the change of the mutant.
func (m *Mutant) Change() string {
	switch {
	case m.After == "":
		return fmt.Sprintf("%s: %s", m.Kind, shortened(m.Before))
	case m.Before == "":
		return fmt.Sprintf("%s: %s", m.Kind, shortened(m.After))
	}
	return fmt.Sprintf("%s: %s -> %s", m.Kind, shortened(m.Before), shortened(m.After))
}

// details returns the lines about a mutant that was not killed.
func (m *Mutant) details() (lines []string) {
	switch {
	case m.Status == Equivalent:
		lines = append(lines, fmt.Sprintf("no object found in %d tries: possibly equivalent", m.Tries))
	case m.Status == Survived && m.Tests == 0:
		lines = append(lines, "not covered: no test has a value of this field")
	}
	if e := m.Example; e != nil {
		object := "object: "
		if e.Status {
			object = "object, written to status: "
		}
		lines = append(lines, object+string(e.Object))
		if e.OldObject != nil {
			lines = append(lines, "old object: "+string(e.OldObject))
		}
		lines = append(lines, "with the CRD: "+shortened(e.Original), "with the mutant: "+shortened(e.Mutant))
	}
	return lines
}

// Text returns the rules and fields with mutants that no test killed, and the score. With all, it also has those whose
// mutants were killed, and the invalid mutants.
func (r *Report) Text(all bool) string {
	var b strings.Builder
	for _, t := range r.targets() {
		if !all && t.score.Survived+t.score.Equivalent == 0 {
			continue
		}
		first := t.mutants[0]
		fmt.Fprintf(&b, "%s: %s %s: %s: %s\n", first.position(), first.CRD, first.Version, t.title(), t.counts())
		for _, m := range t.mutants {
			switch {
			case m.Status == Survived || m.Status == Equivalent:
				fmt.Fprintf(&b, "  %s: %s\n", m.Status, m.Change())
				for _, line := range m.details() {
					fmt.Fprintf(&b, "    %s\n", line)
				}
			case all && m.Status == Killed:
				fmt.Fprintf(&b, "  killed: %s\n    by the test %s\n", m.Change(), m.KilledBy)
			case all:
				fmt.Fprintf(&b, "  %s: %s\n    %s\n", m.Status, m.Change(), shortened(m.Reason))
			}
		}
	}
	fmt.Fprintf(&b, "%d mutants, %s\n", r.Score.Mutants, r.Score.String())
	if r.Unused > 0 {
		fmt.Fprintf(&b, "%d of %d tests were not used, because they fail with the unchanged CRD\n", r.Unused, r.Tests)
	}
	return b.String()
}

var markdown = strings.NewReplacer("|", `\|`, "`", "'", "\n", " ")

// code returns a text as code in a cell of a table.
func code(s string) string { return "`" + markdown.Replace(oneLine(s)) + "`" }

// maxRows bounds the rows of a table in Markdown.
const maxRows = 500

// Markdown returns the score, a table of rules and fields, and a table of the mutants that survived.
func (r *Report) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "### Mutation testing\n\n%d mutants, %s\n\n", r.Score.Mutants, r.Score.String())
	var targets, survivors []string
	for _, t := range r.targets() {
		s := &t.score
		targets = append(targets, fmt.Sprintf("| %s | %s | %d | %d | %d | %d |\n", code(t.mutants[0].position()),
			code(shortened(t.title())), s.Killed, s.Survived, s.Equivalent, s.Invalid))
		for _, m := range t.mutants {
			if e := m.Example; e != nil {
				object := string(e.Object)
				if e.OldObject != nil {
					object += " (old: " + string(e.OldObject) + ")"
				}
				survivors = append(survivors, fmt.Sprintf("| %s | %s | %s | %s | %s |\n", code(m.position()),
					code(m.Change()), code(shortened(object)), code(shortened(e.Original)), code(shortened(e.Mutant))))
			}
		}
	}
	table(&b, "| position | field or rule | killed | survived | possibly equivalent | invalid |\n|---|---|---|---|---|---|\n", targets)
	table(&b, "| position | survivor | object | with the CRD | with the mutant |\n|---|---|---|---|---|\n", survivors)
	return b.String()
}

func table(b *strings.Builder, head string, rows []string) {
	if len(rows) == 0 {
		return
	}
	b.WriteString(head + strings.Join(rows[:min(len(rows), maxRows)], "") + "\n")
	if more := len(rows) - maxRows; more > 0 {
		fmt.Fprintf(b, "%d more rows are not listed.\n\n", more)
	}
}
