package main

import (
	"cmp"
	"context"
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
	suites []*junitSuite
}

type junitCounts struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Errors   int `xml:"errors,attr"`
	Skipped  int `xml:"skipped,attr"`
}

type junitReport struct {
	XMLName xml.Name `xml:"testsuites"`
	Name    string   `xml:"name,attr"`
	junitCounts
	Suites []*junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name string `xml:"name,attr"`
	junitCounts
	Cases []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	File    string        `xml:"file,attr"`
	Line    int           `xml:"line,attr,omitempty"`
	Failure *junitResult  `xml:"failure"`
	Error   *junitResult  `xml:"error"`
	Skipped *junitSkipped `xml:"skipped"`
	Output  string        `xml:"system-out,omitempty"`
}

type junitResult struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

type junitSkipped struct {
	Message string `xml:"message,attr"`
}

func (p *junitPrinter) add(c junitCase) {
	if n := len(p.suites); n == 0 || p.suites[n-1].Name != c.File {
		p.suites = append(p.suites, &junitSuite{Name: c.File})
	}
	s := p.suites[len(p.suites)-1]
	s.Cases = append(s.Cases, c)
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
}

func (p *junitPrinter) crd(j *crdReport) error {
	c := junitCase{Name: cmp.Or(j.Name, j.source.where()), Class: manifests.CRDKind, File: j.File, Line: j.Line,
		Output: strings.Join(j.Report.message.GetWarnings(), "\n")}
	var lines []string
	for _, v := range j.Report.message.GetViolations() {
		lines = append(lines, positionText(j.File, v.GetPosition())+": "+violationText(v))
	}
	switch r := j.Report.message.GetRejection(); {
	case j.Error != "":
		c.Error = &junitResult{Message: j.Error, Type: "error", Text: j.Error}
	case r != nil:
		c.Failure = &junitResult{Message: r.GetMessage(), Type: r.GetReason(), Text: strings.Join(lines, "\n")}
	}
	p.add(c)
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
	switch r := verdict.GetRejection(); {
	case o.Skipped != "":
		c.Skipped = &junitSkipped{Message: o.Skipped}
	case o.Error != "":
		c.Error = &junitResult{Message: o.Error, Type: "error", Text: o.positionText(nil) + ": " + o.Error}
	case r != nil:
		c.Failure = &junitResult{Message: r.GetMessage(), Type: r.GetReason(), Text: strings.Join(lines, "\n")}
	}
	p.add(c)
	return nil
}

// close prints the report. Its counts precede the cases.
func (p *junitPrinter) close(context.Context, *admission, *tally) error {
	r := junitReport{Name: "crdeval admit", Suites: p.suites}
	for _, s := range p.suites {
		r.Tests, r.Failures = r.Tests+s.Tests, r.Failures+s.Failures
		r.Errors, r.Skipped = r.Errors+s.Errors, r.Skipped+s.Skipped
	}
	text, err := xml.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.w, "%s%s\n", xml.Header, text)
	return err
}
