package main

import (
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// junitPrinter prints test cases, as CI systems take them: a suite a file, a case a document. Line and column stand in the texts of failures, and the
// line in an attribute that several systems know.
type junitPrinter struct {
	w      io.Writer
	suites []*junitSuite
}

type junitReport struct {
	XMLName  xml.Name      `xml:"testsuites"`
	Name     string        `xml:"name,attr"`
	Tests    int           `xml:"tests,attr"`
	Failures int           `xml:"failures,attr"`
	Errors   int           `xml:"errors,attr"`
	Suites   []*junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	File    string        `xml:"file,attr"`
	Line    int           `xml:"line,attr,omitempty"`
	Failure *junitFailure `xml:"failure"`
	Error   *junitFailure `xml:"error"`
	Output  string        `xml:"system-out,omitempty"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

func (p *junitPrinter) add(file string, c junitCase) {
	at := len(p.suites) - 1
	if at < 0 || p.suites[at].Name != file {
		p.suites, at = append(p.suites, &junitSuite{Name: file}), at+1
	}
	s := p.suites[at]
	s.Cases = append(s.Cases, c)
	s.Tests++
	if c.Failure != nil {
		s.Failures++
	}
	if c.Error != nil {
		s.Errors++
	}
}

func (p *junitPrinter) crd(j *judgement) error {
	c := junitCase{Name: j.Name, Class: "CustomResourceDefinition", File: j.File, Line: j.Line}
	if c.Name == "" {
		c.Name = j.where
	}
	var lines []string
	for i := range j.Violations {
		v := &j.Violations[i]
		place := j.File
		if p := v.Position; p != nil {
			place = fmt.Sprintf("%s:%d:%d", j.File, p.Line, p.Column)
		}
		lines = append(lines, place+": "+v.text())
	}
	switch {
	case j.Error != "":
		c.Error = &junitFailure{Message: j.Error, Type: "error", Text: j.Error}
	case !j.Accepted && j.Refusal != nil:
		c.Failure = &junitFailure{Message: j.Refusal.Message, Type: j.Refusal.Reason, Text: strings.Join(lines, "\n")}
	}
	c.Output = strings.Join(j.Warnings, "\n")
	p.add(j.File, c)
	return nil
}

func (p *junitPrinter) object(o *outcome) error {
	c := junitCase{Name: o.title(), Class: o.Kind, File: o.File, Line: o.Line, Output: strings.Join(o.Warnings, "\n")}
	if c.Name == "" {
		c.Name = o.source.where()
	}
	if group, _, found := cutAPIVersion(o.apiVersion); found {
		c.Class += "." + group
	}
	var lines []string
	say := func(at *position, text string, h *hint) {
		if h != nil {
			text += " (" + h.Text + ")"
		}
		lines = append(lines, o.place(at)+": "+text)
	}
	for i := range o.Violations {
		say(o.Violations[i].Position, o.Violations[i].text(), o.Violations[i].Hint)
	}
	for i := range o.Pruned {
		say(o.Pruned[i].Position, "unknown field "+o.Pruned[i].Path, o.Pruned[i].Hint)
	}
	switch {
	case o.Error != "":
		c.Error = &junitFailure{Message: o.Error, Type: "error", Text: o.place(nil) + ": " + o.Error}
	case !o.Allowed && o.Refusal != nil:
		c.Failure = &junitFailure{Message: o.Refusal.Message, Type: o.Refusal.Reason, Text: strings.Join(lines, "\n")}
	}
	p.add(o.File, c)
	return nil
}

// close prints the report: JUnit's counts stand before the cases.
func (p *junitPrinter) close(context.Context, admitter, *tally) error {
	r := junitReport{Name: "crdeval admit", Suites: p.suites}
	for _, s := range p.suites {
		r.Tests, r.Failures, r.Errors = r.Tests+s.Tests, r.Failures+s.Failures, r.Errors+s.Errors
	}
	text, err := xml.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.w, "%s%s\n", xml.Header, text)
	return err
}
