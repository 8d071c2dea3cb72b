package main

import (
	"fmt"
	"os"
	"strings"
)

// maxSummaryRows bounds the table of problems. GitHub rejects summaries of more than 1 MiB.
const maxSummaryRows = 500

// summaryPrinter appends a summary in Markdown to a file at the end of the run.
type summaryPrinter struct {
	file, title, root string
	summary           func(*tally) string
	rows              []string
	omitted           int
}

func (p *summaryPrinter) crd(j *crdReport) error  { return p.add(j.problems()) }
func (p *summaryPrinter) object(o *outcome) error { return p.add(o.problems()) }

func (p *summaryPrinter) add(list []problem) error {
	for i := range list {
		of := list[i]
		if len(p.rows) == maxSummaryRows {
			p.omitted++
			continue
		}
		of.File = inRepository(p.root, of.File)
		p.rows = append(p.rows, fmt.Sprintf("| %s | %s | %s | %s |\n", of.level, markdownCode(of.at()),
			markdownText(of.document), markdownText(truncated(of.message()))))
	}
	return nil
}

func (p *summaryPrinter) close(t *tally) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n", p.title)
	for line := range strings.Lines(p.summary(t)) {
		fmt.Fprintf(&b, "%s\n\n", markdownText(strings.TrimSpace(line)))
	}
	if len(p.rows) > 0 {
		b.WriteString("| level | position | document | problem |\n|---|---|---|---|\n")
		b.WriteString(strings.Join(p.rows, ""))
		b.WriteString("\n")
	}
	if p.omitted > 0 {
		fmt.Fprintf(&b, "%d more problems are not listed.\n\n", p.omitted)
	}
	file, err := os.OpenFile(p.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return fmt.Errorf("--summary: %w", err)
	}
	_, err = file.WriteString(b.String())
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}

// maxSummaryText bounds the text of a row in bytes.
const maxSummaryText = 1000

func truncated(s string) string {
	if len(s) <= maxSummaryText {
		return s
	}
	return strings.ToValidUTF8(s[:maxSummaryText], "") + "…"
}

var markdownEscapes = strings.NewReplacer("\n", " ", "\\", `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`,
	"<", "&lt;", ">", "&gt;", "&", "&amp;", "|", `\|`, "#", `\#`, "~", `\~`, "@", "&#64;")

// markdownText escapes a text, so that it contains no markup, links or mentions.
func markdownText(s string) string { return markdownEscapes.Replace(validText(s)) }

var markdownCodeEscapes = strings.NewReplacer("\n", " ", "`", "'", "|", `\|`)

func markdownCode(s string) string { return "`" + markdownCodeEscapes.Replace(validText(s)) + "`" }
