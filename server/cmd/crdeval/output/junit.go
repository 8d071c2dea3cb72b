package output

import (
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// junitPrinter prints a JUnit report: a suite for each file, a case for each document. The line is an attribute, and
// the texts of failures have line and column.
type junitPrinter struct {
	w      io.Writer
	title  string // of the report
	report junitSuite
}

// junitSuite is the report, which has suites, or the suite of a file, which has cases.
type junitSuite struct {
	XMLName  xml.Name
	Name     string        `xml:"name,attr"`
	Tests    int           `xml:"tests,attr"`
	Failures int           `xml:"failures,attr"`
	Errors   int           `xml:"errors,attr"`
	Skipped  int           `xml:"skipped,attr"`
	Suites   []*junitSuite `xml:"testsuite"`
	Cases    []junitCase   `xml:"testcase"`
}

type junitCase struct {
	Name    string       `xml:"name,attr"`
	Class   string       `xml:"classname,attr"`
	File    string       `xml:"file,attr"`
	Line    int          `xml:"line,attr,omitempty"`
	Failure *junitResult `xml:"failure"`
	Error   *junitResult `xml:"error"`
	Skipped *junitResult `xml:"skipped"`
	Output  string       `xml:"system-out,omitempty"`
}

type junitResult struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// Add implements Printer.
func (p *junitPrinter) Add(r *Result) error {
	if n := len(p.report.Suites); n == 0 || p.report.Suites[n-1].Name != r.File {
		p.report.Suites = append(p.report.Suites, &junitSuite{Name: r.File})
	}
	c := junitCase{Name: r.Name, Class: r.Class, File: r.File, Line: r.Line, Output: r.Warnings}
	suite := p.report.Suites[len(p.report.Suites)-1]
	for _, s := range []*junitSuite{&p.report, suite} {
		s.Tests++
		switch {
		case r.Skipped != "":
			c.Skipped = &junitResult{Message: r.Skipped}
			s.Skipped++
		case r.Error != "":
			at := Problem{File: r.File, Line: r.Line}
			c.Error = &junitResult{r.Error, "error", at.at() + ": " + r.Error}
			s.Errors++
		case r.Failed:
			c.Failure = &junitResult{r.Message, r.Reason, cmp.Or(r.Details, strings.Join(r.lines(), "\n"))}
			s.Failures++
		}
	}
	suite.Cases = append(suite.Cases, c)
	return nil
}

// lines returns a line for each problem that is an error.
func (r *Result) lines() (lines []string) {
	for i := range r.Problems {
		if p := &r.Problems[i]; p.Level == LevelError {
			lines = append(lines, p.at()+": "+p.message())
		}
	}
	return lines
}

// Close prints the report. Its counts precede the cases.
func (p *junitPrinter) Close(of *Run) error {
	var errs []error
	for _, s := range of.Skipped {
		errs = append(errs, p.Add(&Result{File: s.Name, Name: s.Name, Class: s.Skip.Kind, Skipped: s.Skip.Reason}))
	}
	if of.Failure != nil {
		errs = append(errs, p.Add(&Result{File: p.title, Name: p.title, Class: p.title, Error: of.Failure.Error()}))
	}
	p.report.XMLName.Local, p.report.Name = "testsuites", p.title
	text, err := xml.MarshalIndent(p.report, "", "  ")
	if err = errors.Join(append(errs, err)...); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.w, "%s%s\n", xml.Header, text)
	return err
}
