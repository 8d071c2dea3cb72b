package main

import (
	"fmt"
	"io"
	"strings"
)

// githubPrinter prints workflow commands, from which GitHub Actions make annotations.
type githubPrinter struct {
	w       io.Writer
	root    string
	summary func(*tally) string
}

var githubCommands = map[level]string{levelError: "error", levelWarning: "warning", levelNote: "notice"}

func (p *githubPrinter) crd(j *crdReport) error  { return p.print(j.problems()) }
func (p *githubPrinter) object(o *outcome) error { return p.print(o.problems()) }

func (p *githubPrinter) print(list []problem) error {
	for i := range list {
		of := &list[i]
		properties := []string{"file=" + githubProperty(inRepository(p.root, of.File))}
		if of.line > 0 {
			properties = append(properties, fmt.Sprintf("line=%d", of.line))
			if of.column > 0 {
				properties = append(properties, fmt.Sprintf("col=%d", of.column))
			}
		}
		properties = append(properties, "title="+githubProperty(of.document+" ("+of.kind+")"))
		_, err := fmt.Fprintf(p.w, "::%s %s::%s\n",
			githubCommands[of.level], strings.Join(properties, ","), githubData(of.message()))
		if err != nil {
			return err
		}
	}
	return nil
}

// close prints the counts. They contain kinds of documents, which must not become commands.
func (p *githubPrinter) close(t *tally) error {
	for line := range strings.Lines(p.summary(t)) {
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
