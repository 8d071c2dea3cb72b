package main

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/manifests"
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

// add adds a case. Its result is skipped, failure with its position, or a rejection with its lines.
func (p *junitPrinter) add(c junitCase, skipped, failure, at string, r *crdevalv1.Rejection, lines []string) {
	if n := len(p.report.Suites); n == 0 || p.report.Suites[n-1].Name != c.File {
		p.report.Suites = append(p.report.Suites, &junitSuite{Name: c.File})
	}
	suite := p.report.Suites[len(p.report.Suites)-1]
	for _, s := range []*junitSuite{&p.report, suite} {
		s.Tests++
		switch {
		case skipped != "":
			c.Skipped = &junitResult{Message: skipped}
			s.Skipped++
		case failure != "":
			c.Error = &junitResult{failure, "error", at + ": " + failure}
			s.Errors++
		case r != nil:
			c.Failure = &junitResult{r.GetMessage(), r.GetReason(), strings.Join(lines, "\n")}
			s.Failures++
		}
	}
	suite.Cases = append(suite.Cases, c)
}

func (p *junitPrinter) crd(j *crdReport) error {
	report := j.Report.message
	c := junitCase{Name: cmp.Or(j.Name, j.source.where()), Class: manifests.CRDKind, File: j.File, Line: j.Line,
		Output: strings.Join(report.GetWarnings(), "\n")}
	var lines []string
	for _, v := range report.GetViolations() {
		lines = append(lines, positionText(j.File, v.GetPosition())+": "+violationText(v))
	}
	rejection := report.GetRejection()
	if j.source.Conversion {
		if lines = j.conversionLines(); len(lines) > 0 {
			rejection = &crdevalv1.Rejection{Message: "the conversion rules of " + j.Name + " are rejected", Reason: "Invalid"}
		}
		c.Class = "ConversionRules"
	}
	p.add(c, j.Skipped, j.Error, j.source.errorAt(j.Line), rejection, lines)
	return nil
}

func (p *junitPrinter) object(o *outcome) error {
	verdict := o.Verdict.message
	c := junitCase{Name: o.title(), Class: o.Kind, File: o.File, Line: o.Line,
		Output: strings.Join(verdict.GetWarnings(), "\n")}
	if group := groupOf(o.write.apiVersion); group != "" {
		c.Class += "." + group
	}
	var lines []string
	add := func(p *crdevalv1.Position, text string, hint *crdevalv1.Hint) {
		if hint != nil {
			text += " (" + hint.GetText() + ")"
		}
		lines = append(lines, o.positionText(p)+": "+text)
	}
	for _, v := range verdict.GetViolations() {
		add(v.GetPosition(), violationText(v), v.GetHint())
	}
	for _, v := range o.Next {
		add(v.message.GetPosition(), violationText(v.message), v.message.GetHint())
	}
	for _, f := range verdict.GetChanges().GetPruned() {
		add(f.GetPosition(), "unknown field "+f.GetPath(), f.GetHint())
	}
	p.add(c, o.Skipped, o.Error, o.positionText(nil), verdict.GetRejection(), lines)
	return nil
}

// close prints the report. Its counts precede the cases.
func (p *junitPrinter) close(t *tally) error {
	for _, s := range t.files {
		p.add(junitCase{Name: s.name, Class: s.kind, File: s.name}, s.reason, "", "", nil, nil)
	}
	p.report.XMLName.Local, p.report.Name = "testsuites", p.title
	text, err := xml.MarshalIndent(p.report, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.w, "%s%s\n", xml.Header, text)
	return err
}
