package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/convert"
	"github.com/crdeval/crdeval/engine/kubeserver"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/cmd/crdeval/input"
	"github.com/crdeval/crdeval/server/cmd/crdeval/output"
)

// lawFlags say how --check tests the laws.
type lawFlags struct {
	Objects int    `short:"n" default:"1000" help:"With --check: number of generated objects for each law, pair of versions and direction."`
	Seed    uint64 `default:"1" help:"With --check: seed of the generated objects. Equal seeds give equal objects."`
}

// defaultLaws are the flags that are not set.
var defaultLaws = lawFlags{Objects: 1000, Seed: 1}

// maxLawObjects bounds --objects.
const maxLawObjects = 10_000_000

func (c *convertCommand) validateCheck() error {
	switch {
	case len(c.Files) > 0 || c.To != "":
		return errors.New("--check converts no files: remove them and --to")
	case c.Server != "":
		return errors.New("--check cannot be used with --server")
	case c.Output == "yaml":
		return errors.New("--check does not print objects: use -o text, json, junit, sarif or github")
	case c.Objects < 1 || c.Objects > maxLawObjects:
		return fmt.Errorf("-n is %d: it must be from 1 to %d", c.Objects, maxLawObjects)
	case isStdinTwice([]string{c.Check}, c.CRDs):
		return errStdinTwice
	}
	return c.validate()
}

// rulesReport is what is known about the conversion rules of a CRD.
type rulesReport struct {
	documentID
	Line       int             `json:"line,omitempty"` // of the rules, or of their error
	Name       string          `json:"name,omitempty"` // of the CRD
	Accepted   bool            `json:"accepted"`       // the rules fit, and all laws hold or are excepted
	Error      string          `json:"error,omitempty"`
	Violations []ruleViolation `json:"violations,omitempty"`
	Hub        string          `json:"hub,omitempty"`
	Rules      []ruleLine      `json:"rules,omitempty"`
	Coverage   []coverageLine  `json:"coverage,omitempty"`
	Laws       []lawLine       `json:"laws,omitempty"`

	source *workspace.Manifest
}

type ruleViolation struct {
	Field   string `json:"field"`
	Message string `json:"message"`
	Pointer string `json:"pointer"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
}

type ruleLine struct {
	Between       [2]string `json:"between"`
	Index         int       `json:"index"` // -1 for the fields that both versions have
	Kind          string    `json:"kind"`
	Text          string    `json:"text"`
	Class         string    `json:"class"`
	Preconditions []string  `json:"preconditions,omitempty"`
}

// coverageLine counts fields of the version From by what becomes of them in the version To.
type coverageLine struct {
	From    string `json:"from"`
	To      string `json:"to"`
	Carried int    `json:"carried"`
	Read    int    `json:"read"`
	Stashed int    `json:"stashed"`
	Dropped int    `json:"dropped"`
}

type lawLine struct {
	Law            string       `json:"law"`
	From           string       `json:"from"`
	To             string       `json:"to"`
	Objects        int          `json:"objects"`
	Excepted       bool         `json:"excepted,omitempty"`
	Counterexample *counterLine `json:"counterexample,omitempty"`

	// Of the law validity.
	Generated   int    `json:"generated,omitempty"`
	Unconverted int    `json:"unconverted,omitempty"`
	Failure     string `json:"failure,omitempty"`
}

type counterLine struct {
	Text      string          `json:"text"`
	Object    json.RawMessage `json:"object,omitempty"`
	Converted json.RawMessage `json:"converted,omitempty"`
	Back      json.RawMessage `json:"back,omitempty"`
}

// runCheck checks the conversion rules of a file or directory.
func (c *convertCommand) runCheck(ctx context.Context, env environment) error {
	files := env.files(c.Recursive)
	crds, _, err := files.CRDsAndRules(ctx, c.CRDs...)
	if err != nil {
		return err
	}
	var rules []*workspace.Manifest
	list, err := input.Manifests(files.Files(ctx, c.Check))
	if err != nil {
		return err
	}
	for _, s := range list {
		switch {
		case s.Conversion:
			rules = append(rules, s)
		case s.Err != nil:
			return fmt.Errorf("%s: %w", failurePlace(s, s.Err), s.Err)
		case s.AsCRD() != nil:
			crds = append(crds, s)
		}
	}
	if len(rules) == 0 {
		return fmt.Errorf("%s has no conversion rules: they are a document with the field crd and without kind", c.Check)
	}
	l := newLocal(string(c.Kubernetes))
	rejected := map[string]bool{}
	for _, crd := range crds {
		j := l.registerCRD(ctx, crd, registration{adopts: crd.AsCRD().Established})
		if j.Error != "" {
			return fmt.Errorf("%s: %s", errorPlace(crd, j.Line, j.Column), j.Error)
		}
		if rejected[crd.Name] = !j.Accepted; j.Accepted {
			continue
		}
		if err := j.print(env.stderr); err != nil {
			return err
		}
	}
	failed, broken := 0, false
	out := output.New(env.stdout, c.Output, program("convert"))
	for _, s := range rules {
		r := &rulesReport{documentID: documentIDOf(s), Line: s.Line(), Name: s.CRD, source: s}
		switch crd := l.catalog.Named(r.Name); {
		case r.Name == "":
			r.Error = "crd must be the name of the CRD, such as crontabs.example.com"
		case crd != nil:
			err = c.checkRules(ctx, r, crd.Existing)
		case rejected[r.Name]:
			r.Error = "the CRD " + r.Name + " is not accepted"
		default:
			r.Error = fmt.Sprintf("these conversion rules are for %s, but --crds has no CRD of this name: add it, or correct crd", r.Name)
		}
		if err != nil {
			return err
		}
		if r.Error != "" {
			failed++
		}
		broken = broken || !r.Accepted
		switch {
		case c.Output == "json":
			err = json.NewEncoder(env.stdout).Encode(r)
		case out != nil:
			err = out.Add(r.result())
		default:
			err = r.print(env.stdout)
		}
		if err != nil {
			return err
		}
	}
	if out != nil {
		if err := out.Close(&output.Run{Counts: "conversion rules of " + counted(len(rules), "CRD"),
			Errors: failed}); err != nil {
			return err
		}
	}
	switch {
	case failed > 0:
		return incompleteError(counted(failed, "document") + " could not be checked")
	case broken:
		return errRejected
	}
	return nil
}

// checkRules compiles rules for a CRD and tests the laws. The error is that of an interruption.
func (c *convertCommand) checkRules(ctx context.Context, r *rulesReport, existing *engine.Existing) error {
	var laws []convert.Law
	d, err := kubeserver.CompileStored(ctx, existing.Manifest, engine.Options{Conversion: r.source.Document})
	if err == nil {
		r.take(convert.ReportOf(d))
		laws, err = convert.Test(ctx, d, c.Objects, c.Seed)
	}
	if ctx.Err() != nil {
		return input.ErrInterrupted
	}
	if err != nil {
		err = localError(ctx, err)
		r.Accepted, r.Error = false, err.Error()
		r.Line, _ = placeOf(err, r.source)
	}
	for _, l := range laws {
		line := lawLine{Law: l.Law, From: l.Between[0], To: l.Between[1], Objects: l.Objects, Excepted: l.Excepted,
			Generated: l.Generated, Unconverted: l.Unconverted, Failure: l.Failure}
		if e := l.Counterexample; e != nil {
			line.Counterexample = &counterLine{e.Text, e.Object, e.Converted, e.Back}
			r.Accepted = r.Accepted && l.Excepted
		}
		r.Laws = append(r.Laws, line)
	}
	return nil
}

// take records the report of the rules.
func (r *rulesReport) take(report *convert.Report) {
	r.Accepted, r.Hub = report.Accepted, report.Hub
	for _, v := range report.Violations {
		line := ruleViolation{Field: v.Field, Message: v.Message, Pointer: v.Pointer}
		if v.Position != nil {
			line.Line, line.Column = v.Position.Line, v.Position.Column
		}
		r.Violations = append(r.Violations, line)
	}
	for _, rule := range report.Rules {
		r.Rules = append(r.Rules, ruleLine{
			rule.Between, rule.Index, rule.Kind, rule.Text, string(rule.Class), rule.Preconditions,
		})
	}
	for _, c := range report.Coverage {
		r.Coverage = append(r.Coverage, coverageLine{c.Between[0], c.Between[1], c.Carried, c.Read, c.Stashed, c.Dropped})
	}
}

// result returns the result for reports of CI systems.
func (r *rulesReport) result() *output.Result {
	of := &output.Result{File: r.File, Line: r.Line, Name: r.Name, Class: output.ConversionRules, Error: r.Error,
		Failed: !r.Accepted, Message: "the conversion rules of " + r.Name + " are rejected", Reason: "Invalid"}
	add := func(line, column int, kind, pointer, text string) {
		of.Problems = append(of.Problems, output.Problem{File: r.File, Line: cmp.Or(line, r.Line), Column: column,
			Level: output.LevelError, Kind: kind, Document: r.Name, Text: text, Pointer: pointer})
	}
	if r.Error != "" {
		add(r.Line, 0, output.NotChecked, "", r.Error)
	}
	for _, v := range r.Violations {
		add(v.Line, v.Column, output.ConversionRules, v.Pointer, v.Field+": "+v.Message)
	}
	for i := range r.Laws {
		if l := &r.Laws[i]; l.Counterexample != nil && !l.Excepted {
			add(r.Line, 0, output.ConversionRules, "", fmt.Sprintf("the law %q does not hold from %s to %s. %s Object: %s",
				l.Law, l.From, l.To, l.Counterexample.Text, l.Counterexample.Object))
		}
	}
	return of
}

// print prints the report as text.
func (r *rulesReport) print(w io.Writer) error {
	var b bytes.Buffer
	verdict := "rejected"
	switch {
	case r.Error != "":
		fmt.Fprintf(&b, "%s:%d: error: %s\n", r.File, r.Line, r.Error)
		_, err := w.Write(printable(b.Bytes()))
		return err
	case r.Accepted:
		verdict = "accepted"
	}
	fmt.Fprintf(&b, "%s: %s: conversion rules: %s\n", where(r.source), r.Name, verdict)
	for _, v := range r.Violations {
		at := r.File
		if v.Line > 0 {
			at = fmt.Sprintf("%s:%d:%d", r.File, v.Line, v.Column)
		}
		fmt.Fprintf(&b, "  %s: %s: %s\n", at, v.Field, v.Message)
	}
	r.printRules(&b)
	for _, c := range r.Coverage {
		fmt.Fprintf(&b, "  %s to %s: %s: %d carried, %d read by expressions, %d stashed, %d dropped\n", c.From, c.To,
			counted(c.Carried+c.Read+c.Stashed+c.Dropped, "field"), c.Carried, c.Read, c.Stashed, c.Dropped)
	}
	for _, l := range r.Laws {
		if l.Unconverted > 0 {
			fmt.Fprintf(&b, "  %s to %s: %d of %s cannot be converted, so the laws are tested with other values. For example: %s\n",
				l.From, l.To, l.Unconverted, counted(l.Generated, "generated object"), l.Failure)
		}
	}
	for i := range r.Laws {
		r.Laws[i].print(&b)
	}
	_, err := w.Write(printable(b.Bytes()))
	return err
}

// printRules prints the rules of each pair of versions with their classes and preconditions.
func (r *rulesReport) printRules(b *bytes.Buffer) {
	for i, rule := range r.Rules {
		if i == 0 || r.Rules[i-1].Between != rule.Between {
			fmt.Fprintf(b, "  between %s and %s:\n", rule.Between[0], rule.Between[1])
		}
		name := ""
		if rule.Index >= 0 {
			name = fmt.Sprintf("rules[%d] %s: ", rule.Index, rule.Kind)
		}
		fmt.Fprintf(b, "    %-6s %s%s\n", rule.Class, name, rule.Text)
		for _, p := range rule.Preconditions {
			fmt.Fprintf(b, "             %s\n", p)
		}
	}
}

// print prints the result of a law, and the counterexample as YAML.
func (l *lawLine) print(b *bytes.Buffer) {
	fmt.Fprintf(b, "  law %s, %s to %s: ", l.Law, l.From, l.To)
	e := l.Counterexample
	switch {
	case e == nil && l.Objects == 0:
		fmt.Fprintln(b, "applies to no generated object")
		return
	case e == nil:
		fmt.Fprintf(b, "holds for %s\n", counted(l.Objects, "object"))
		return
	case l.Excepted:
		fmt.Fprintf(b, "excepted: %s\n", e.Text)
	default:
		fmt.Fprintf(b, "broken: %s\n", e.Text)
	}
	for _, part := range []struct {
		title string
		json  []byte
	}{{"object", e.Object}, {"converted", e.Converted}, {"back", e.Back}} {
		if part.json == nil {
			continue
		}
		text, err := output.YAML(part.json)
		if err != nil {
			text = part.json
		}
		fmt.Fprintf(b, "    %s:\n", part.title)
		for line := range slices.Values(strings.Split(strings.TrimRight(string(text), "\n"), "\n")) {
			fmt.Fprintf(b, "      %s\n", line)
		}
	}
}
