package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/crdeval/crdeval/engine/suite"
	"github.com/crdeval/crdeval/server/input"
	"github.com/crdeval/crdeval/server/report"
)

// testText prints the tests that failed as text.
type testText struct {
	w       io.Writer
	verbose bool
}

// testTitle identifies a test in messages.
func testTitle(r *suite.Result) string {
	title := fmt.Sprintf("%s:%d: %s", r.File, r.Line, r.Name)
	if r.CRD != "" {
		title += " (" + r.CRD + ")"
	}
	return title
}

func (p *testText) print(format string, args ...any) {
	_, _ = p.w.Write(printable(fmt.Appendf(nil, format+"\n", args...)))
}

func (p *testText) result(r *suite.Result) {
	switch {
	case r.Error != "":
		p.print("%s: error: %s", testTitle(r), r.Error)
	case !r.Passed:
		p.print("%s: failed\n  %s", testTitle(r), strings.ReplaceAll(r.Text(), "\n", "\n  "))
	case p.verbose:
		p.print("%s: passed", testTitle(r))
	}
}

func (p *testText) fail(file string, line int, message string) {
	p.print("%v: error: %s", (&input.Source{Location: input.Location{File: file}}).ErrorAt(line), message)
}

func (p *testText) note(text string) { p.print("%s", text) }

// counts returns the numbers of tests by their result.
func (r *testRun) counts() string {
	text := fmt.Sprintf("%s, %s: %d passed, %d failed", counted(r.suites, "suite"), counted(r.total.Tests, "test"),
		r.total.Passed, r.total.Failed)
	if n := r.invalid + r.total.Errors; n > 0 {
		text += ", " + counted(n, "error")
	}
	if n := r.total.OlderTexts; n > 0 {
		text += fmt.Sprintf("; %s with values in the text of an older Kubernetes", counted(n, "expected error"))
	}
	return text
}

func (p *testText) close(r *testRun) error {
	if c := r.evaluators.coverage; c != nil && len(c.versions()) > 0 {
		p.print("%s", c.text())
	}
	if r.mutants != nil {
		p.print("%s", strings.TrimSuffix(r.mutants.Text(p.verbose), "\n"))
	}
	p.print("%s", r.counts())
	return nil
}

// testJSON prints a line for each test, for each error in a suite, for the coverage of each version of a CRD, and for
// each mutant.
type testJSON struct{ w io.Writer }

func (p *testJSON) result(r *suite.Result) { _ = json.NewEncoder(p.w).Encode(r) }

func (p *testJSON) fail(file string, line int, message string) {
	p.result(&suite.Result{File: file, Line: line, Error: message})
}

func (p *testJSON) note(string) {}

func (p *testJSON) close(r *testRun) error {
	if c := r.evaluators.coverage; c != nil {
		for _, v := range c.versions() {
			if err := json.NewEncoder(p.w).Encode(v); err != nil {
				return err
			}
		}
	}
	if r.mutants != nil {
		return mutantsJSON(p.w, r.mutants)
	}
	return nil
}

// testReport prints a report for a CI system: a result for each test.
type testReport struct{ report.Printer }

func (p testReport) result(r *suite.Result) {
	of := &report.Result{File: r.File, Line: r.Line, Name: cmp.Or(r.Name, r.File), Class: r.CRD, Error: r.Error}
	add := func(line int, kind, text string) {
		of.Problems = append(of.Problems, report.Problem{File: r.File, Line: cmp.Or(line, r.Line), Level: report.LevelError,
			Kind: kind, Document: of.Name, Text: text})
	}
	switch {
	case r.Error != "":
		add(r.Line, report.NotChecked, r.Error)
	case !r.Passed:
		of.Failed, of.Reason, of.Message, of.Details = true, "failed", "expected "+r.Failures[0].Expected, r.Text()
		for _, f := range r.Failures {
			add(f.Line, report.TestFailed, "expected "+f.Expected+", got "+f.Got)
		}
	}
	_ = p.Add(of)
}

func (p testReport) fail(file string, line int, message string) {
	p.result(&suite.Result{File: file, Line: line, Error: message})
}

func (p testReport) note(string) {}

func (p testReport) close(r *testRun) error {
	return p.Close(&report.Run{Counts: r.counts(), Errors: r.invalid + r.total.Errors})
}
