package suiterun

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine/suite"
	"github.com/crdeval/crdeval/engine/suite/mutation"
	"github.com/crdeval/crdeval/server/cmd/crdeval/output"
	"github.com/crdeval/crdeval/server/cmd/crdeval/terminal"
)

// Printer prints the results of tests in one format.
type Printer interface {
	Result(*suite.Result)
	Fail(file string, line int, message string) // prints an error in a suite
	Note(text string)
	Close(*Results) error
}

// NewPrinter returns the printer of a format: text, json, or a format of package report. If verbose is true, text also
// has the tests that passed.
func NewPrinter(w io.Writer, format string, verbose bool, of output.Program) Printer {
	switch format {
	case "json":
		return &jsonPrinter{w: w}
	case "text":
		return &textPrinter{w: w, verbose: verbose}
	}
	return reportPrinter{output.New(w, format, of)}
}

// textPrinter prints the tests that failed as text.
type textPrinter struct {
	w       io.Writer
	verbose bool
}

// title identifies a test in messages.
func title(r *suite.Result) string {
	text := fmt.Sprintf("%s:%d: %s", r.File, r.Line, r.Name)
	if r.CRD != "" {
		text += " (" + r.CRD + ")"
	}
	return terminal.OneLine(text)
}

func (p *textPrinter) print(format string, args ...any) {
	_, _ = p.w.Write(output.Printable(fmt.Appendf(nil, format+"\n", args...)))
}

func (p *textPrinter) Result(r *suite.Result) {
	switch {
	case r.Error != "":
		p.print("%s: error: %s", title(r), r.Error)
	case !r.Passed:
		p.print("%s: failed\n  %s", title(r), strings.ReplaceAll(r.Text(), "\n", "\n  "))
	case p.verbose:
		p.print("%s: passed", title(r))
	}
}

func (p *textPrinter) Fail(file string, line int, message string) {
	place := terminal.OneLine(file)
	if line > 0 {
		place += ":" + strconv.Itoa(line)
	}
	p.print("%s: error: %s", place, message)
}

func (p *textPrinter) Note(text string) { p.print("%s", text) }

// counts returns the numbers of tests by their result.
func (r *Results) counts() string {
	text := fmt.Sprintf("%s, %s: %d passed, %d failed", output.Counted(r.Suites, "suite"),
		output.Counted(r.Total.Tests, "test"), r.Total.Passed, r.Total.Failed)
	if n := r.Errors(); n > 0 {
		text += ", " + output.Counted(n, "error")
	}
	if n := r.Total.OlderTexts; n > 0 {
		text += fmt.Sprintf("; %s with values in the text of an older Kubernetes", output.Counted(n, "expected error"))
	}
	return text
}

func (p *textPrinter) Close(r *Results) error {
	if c := r.Coverage; c != nil && len(c.versions()) > 0 {
		p.print("%s", c.text())
	}
	if r.Mutants != nil {
		p.print("%s", strings.TrimSuffix(r.Mutants.Text(p.verbose), "\n"))
	}
	p.print("%s", r.counts())
	return nil
}

// jsonPrinter prints a line for each test, for each error in a suite, for the coverage of each version of a CRD, and
// for each mutant.
type jsonPrinter struct{ w io.Writer }

func (p *jsonPrinter) Result(r *suite.Result) { _ = json.NewEncoder(p.w).Encode(r) }

func (p *jsonPrinter) Fail(file string, line int, message string) {
	p.Result(&suite.Result{File: file, Line: line, Error: message})
}

func (p *jsonPrinter) Note(string) {}

func (p *jsonPrinter) Close(r *Results) error {
	if c := r.Coverage; c != nil {
		for _, v := range c.versions() {
			if err := json.NewEncoder(p.w).Encode(v); err != nil {
				return err
			}
		}
	}
	if r.Mutants != nil {
		return mutantsJSON(p.w, r.Mutants)
	}
	return nil
}

// reportPrinter prints a report for a CI system: a result for each test.
type reportPrinter struct{ output.Printer }

func (p reportPrinter) Result(r *suite.Result) {
	of := &output.Result{File: r.File, Line: r.Line, Name: cmp.Or(r.Name, r.File), Class: r.CRD, Error: r.Error}
	add := func(line int, kind, text string) {
		of.Problems = append(of.Problems, output.Problem{File: r.File, Line: cmp.Or(line, r.Line), Level: output.LevelError,
			Kind: kind, Document: of.Name, Text: text})
	}
	switch {
	case r.Error != "":
		add(r.Line, output.NotChecked, r.Error)
	case !r.Passed:
		of.Failed, of.Reason, of.Message, of.Details = true, "failed", "expected "+r.Failures[0].Expected, r.Text()
		for _, f := range r.Failures {
			add(f.Line, output.TestFailed, "expected "+f.Expected+", got "+f.Got)
		}
	}
	_ = p.Add(of)
}

func (p reportPrinter) Fail(file string, line int, message string) {
	p.Result(&suite.Result{File: file, Line: line, Error: message})
}

func (p reportPrinter) Note(string) {}

func (p reportPrinter) Close(r *Results) error {
	return p.Printer.Close(&output.Run{Counts: r.counts(), Errors: r.Errors()})
}

// mutantsJSON prints a line for each mutant, and one for the score.
func mutantsJSON(w io.Writer, report *mutation.Report) error {
	encoder := json.NewEncoder(w)
	for _, m := range report.Mutants {
		if err := encoder.Encode(map[string]any{"mutant": m}); err != nil {
			return err
		}
	}
	return encoder.Encode(map[string]any{"mutation": struct {
		mutation.Score
		Percent float64 `json:"percent"`
		Tests   int     `json:"tests"`
		Unused  int     `json:"unusedTests"`
	}{report.Score, report.Score.Percent(), report.Tests, report.Unused}})
}
