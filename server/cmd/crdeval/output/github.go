package output

import (
	"fmt"
	"io"
	"strings"

	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/cmd/crdeval/repository"
)

// githubPrinter prints workflow commands, from which GitHub Actions make annotations.
type githubPrinter struct {
	w  io.Writer
	of Program
}

var githubCommands = map[Level]string{LevelError: "error", LevelWarning: "warning", LevelNote: "notice"}

// Add implements Printer.
func (p *githubPrinter) Add(r *Result) error {
	for i := range r.Problems {
		of := &r.Problems[i]
		properties := []string{"file=" + githubProperty(repository.Relative(p.of.Root, of.File))}
		if of.Line > 0 {
			properties = append(properties, fmt.Sprintf("line=%d", of.Line))
			if of.Column > 0 {
				properties = append(properties, fmt.Sprintf("col=%d", of.Column))
			}
		}
		properties = append(properties, "title="+githubProperty(of.Document+" ("+of.Kind+")"))
		_, err := fmt.Fprintf(p.w, "::%s %s::%s\n",
			githubCommands[of.Level], strings.Join(properties, ","), githubData(of.message()))
		if err != nil {
			return err
		}
	}
	return nil
}

// Close prints the counts. They contain kinds of documents, which must not become commands.
func (p *githubPrinter) Close(of *Run) error {
	if of.Failure != nil {
		_, err := fmt.Fprintf(p.w, "::error title=%s::%s\n", githubProperty(p.of.Title), githubData(of.Failure.Error()))
		return err
	}
	for _, s := range of.Skipped {
		if s.Skip.Kind == workspace.SkipTemplate {
			at := &Result{Problems: []Problem{{File: s.Name, Level: LevelNote, Document: s.Name, Kind: NotChecked,
				Text: "skipped: " + s.Skip.Reason}}}
			if err := p.Add(at); err != nil {
				return err
			}
		}
	}
	for line := range strings.Lines(of.Counts) {
		if _, err := fmt.Fprintln(p.w, strings.TrimLeft(validText(strings.TrimSpace(line)), ":")); err != nil {
			return err
		}
	}
	return nil
}

var (
	githubDataEscapes     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	githubPropertyEscapes = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// githubData escapes the message of a workflow command.
func githubData(s string) string { return githubDataEscapes.Replace(validText(s)) }

// githubProperty escapes a property of a workflow command.
func githubProperty(s string) string { return githubPropertyEscapes.Replace(validText(s)) }
