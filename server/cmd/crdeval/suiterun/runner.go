// Package suiterun runs test suites (runner.go), prints their results (output.go), and counts which parts of CRDs the
// tests reach (coverage.go).
package suiterun

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/crdeval/crdeval/engine/suite"
	"github.com/crdeval/crdeval/engine/suite/mutation"
	"github.com/crdeval/crdeval/server/cmd/crdeval/output"
)

// Evaluators evaluates the tests of suites.
type Evaluators interface {
	// Open returns the evaluator of a suite with the CRDs of files.
	Open(ctx context.Context, files []suite.CRDs) (suite.Evaluator, error)
	// Trim is called after each suite, when no evaluator is in use.
	Trim()
}

// Runner runs the suites of files.
type Runner struct {
	Results
	Evaluators Evaluators
	Out        Printer
	Names      *regexp.Regexp // of the tests to run
	CRDs       []string       // in addition to those of the suites
	Verbose    bool
	Keep       bool // the suites that ran, in Ran
	Ran        []*suite.Suite
}

// Results are the results of all suites.
type Results struct {
	Suites   int
	Invalid  int // errors in suites
	Total    suite.Summary
	Mutants  *mutation.Report // nil if none ran
	Coverage *Coverage        // nil if it is not counted
}

// Errors returns the number of errors in suites, and of tests that could not be evaluated.
func (r *Results) Errors() int { return r.Invalid + r.Total.Errors }

// File runs the suites of a file. If the file is in a directory, it can also have documents that are not suites. An
// error ends the run.
func (r *Runner) File(ctx context.Context, name string, text []byte, ofDirectory bool) error {
	suites, others, invalid := suite.Read(name, text)
	switch {
	case invalid != nil:
		r.Fail(invalid)
	case len(bytes.TrimSpace(text)) == 0 && !ofDirectory:
		r.Fail(&suite.Error{File: name, Message: "the file is empty"})
	case others > 0 && ofDirectory:
		r.note(fmt.Sprintf("%s: %s without a suite", name, output.Counted(others, "document")))
	case others > 0:
		if err := suite.CheckSyntax(name, text); err != nil {
			r.Fail(err)
			break
		}
		r.Fail(&suite.Error{File: name, Message: "a document is not a suite: a suite has the field tests, and no kind"})
	}
	for _, s := range suites {
		r.Suites++
		for _, warning := range s.Warnings {
			r.Out.Note("warning: " + warning)
		}
		if s.Select(r.Names); len(s.Tests) == 0 {
			continue
		}
		failed := s.Run(ctx, r.Evaluators.Open, r.CRDs, func(result *suite.Result) {
			r.Total.Add(result)
			r.Out.Result(result)
		})
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		if failed != nil {
			r.Fail(failed)
		}
		r.Evaluators.Trim()
		if r.Keep {
			r.Ran = append(r.Ran, s)
		}
	}
	return nil
}

func (r *Runner) note(text string) {
	if r.Verbose {
		r.Out.Note(text)
	}
}

// Fail reports errors in a suite.
func (r *Runner) Fail(err error) {
	var several interface{ Unwrap() []error }
	if errors.As(err, &several) {
		for _, e := range several.Unwrap() {
			r.Fail(e)
		}
		return
	}
	at := &suite.Error{Message: err.Error()}
	errors.As(err, &at)
	r.Invalid++
	r.Out.Fail(at.File, at.Line, at.Message)
}
