package output

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/crdeval/crdeval/server/cmd/crdeval/repository"
)

// maxSummaryRows bounds the table of problems. GitHub rejects summaries of more than 1 MiB.
const maxSummaryRows = 500

// summaryPrinter appends a summary in Markdown to a file at the end of the run.
type summaryPrinter struct {
	file    string
	of      Program
	rows    []string
	omitted int
}

// NewSummary returns a printer that appends a summary in Markdown to a file.
func NewSummary(file string, of Program) Printer { return &summaryPrinter{file: file, of: of} }

// Add implements Printer.
func (p *summaryPrinter) Add(r *Result) error {
	for _, of := range r.Problems {
		if len(p.rows) == maxSummaryRows {
			p.omitted++
			continue
		}
		of.File = repository.Relative(p.of.Root, of.File)
		p.rows = append(p.rows, fmt.Sprintf("| %s | %s | %s | %s |\n", of.Level, markdownCode(of.at()),
			markdownText(of.Document), markdownText(truncated(of.message()))))
	}
	return nil
}

// Close writes the summary.
func (p *summaryPrinter) Close(of *Run) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n", p.of.Title)
	for line := range strings.Lines(of.Counts) {
		fmt.Fprintf(&b, "%s\n\n", markdownText(strings.TrimSpace(line)))
	}
	if of.Failure != nil {
		fmt.Fprintf(&b, "Error: %s\n\n", markdownText(truncated(of.Failure.Error())))
	}
	if len(p.rows) > 0 {
		b.WriteString("| level | position | document | problem |\n|---|---|---|---|\n")
		b.WriteString(strings.Join(p.rows, ""))
		b.WriteString("\n")
	}
	if p.omitted > 0 {
		fmt.Fprintf(&b, "%d more problems are not listed.\n\n", p.omitted)
	}
	return AppendSummary(p.file, b.String())
}

// AppendSummary appends Markdown to the file of --summary.
func AppendSummary(name, text string) error {
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return fmt.Errorf("--summary: %w", err)
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
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
