package main

import (
	"cmp"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/crdeval/crdeval/engine/suite"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
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
	p.print("%v: error: %s", (&source{location: location{File: file}}).errorAt(line), message)
}

func (p *testText) note(text string) { p.print("%s", text) }

func (p *testText) close(r *testRun) error {
	text := fmt.Sprintf("%s, %s: %d passed, %d failed", counted(r.suites, "suite"), counted(r.total.Tests, "test"),
		r.total.Passed, r.total.Failed)
	if n := r.invalid + r.total.Errors; n > 0 {
		text += ", " + counted(n, "error")
	}
	if n := r.total.OlderTexts; n > 0 {
		text += fmt.Sprintf("; %s with values in the text of an older Kubernetes", counted(n, "expected error"))
	}
	if c := r.evaluators.coverage; c != nil && len(c.rules) > 0 {
		p.print("%s", c.text())
	}
	p.print("%s", text)
	return nil
}

// testJSON prints a line for each test, for each error in a suite, and for the coverage of each version of a CRD.
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
	return nil
}

// testJUnit prints a JUnit report: a suite for each file, a case for each test.
type testJUnit struct{ junitPrinter }

func (p *testJUnit) result(r *suite.Result) {
	c := junitCase{Name: cmp.Or(r.Name, r.File), Class: r.CRD, File: r.File, Line: r.Line}
	var failed *crdevalv1.Rejection
	var lines []string
	if !r.Passed && r.Error == "" {
		failed = &crdevalv1.Rejection{Message: "expected " + r.Failures[0].Expected, Reason: "failed"}
		lines = []string{r.Text()}
	}
	p.add(c, "", r.Error, fmt.Sprintf("%s:%d", r.File, r.Line), failed, lines)
}

func (p *testJUnit) fail(file string, line int, message string) {
	p.result(&suite.Result{File: file, Line: line, Error: message})
}

func (p *testJUnit) note(string) {}

func (p *testJUnit) close(*testRun) error {
	p.report.XMLName.Local, p.report.Name = "testsuites", "crdeval test"
	text, err := xml.MarshalIndent(p.report, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.w, "%s%s\n", xml.Header, text)
	return err
}
