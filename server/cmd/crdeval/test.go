package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"

	"github.com/crdeval/crdeval/engine/mutation"
	"github.com/crdeval/crdeval/engine/suite"
	"github.com/crdeval/crdeval/server/input"
	"github.com/crdeval/crdeval/server/report"
)

type testCommand struct {
	Files     []string `arg:"" help:"Files or directories with suites; - for stdin." name:"file"`
	CRDs      []string `name:"crds" help:"File or directory with CRDs, in addition to those of the suites. For suites in OpenShift's format, they replace the CRDs of the project." placeholder:"FILE" sep:"none"`
	Names     string   `name:"run" help:"Run only the tests whose names match this regular expression." placeholder:"REGEXP"`
	Output    string   `short:"o" default:"text" enum:"text,json,junit,sarif,github" help:"text; json: a line for each test; junit: a test case for each test; sarif: a SARIF 2.1.0 log; github: annotations of GitHub Actions."`
	Coverage  bool     `help:"Also print the rules of the CRDs that were never evaluated, never failed or never passed. With text and json."`
	Recursive bool     `short:"R" help:"Include subdirectories of directories."`
	Verbose   bool     `short:"v" help:"With text output, also list the tests that passed and the files without suites."`
	watchFlags
	mutateFlags
	serviceFlags

	names *regexp.Regexp
}

func (*testCommand) Help() string {
	return `Runs test suites of CRDs. A suite is a YAML document that names its CRDs and has tests. A test has an object, and what an API server answers to its creation or update: whether it is allowed, the causes of a rejection, the resulting object, and the warnings. For example:

  crds: crontabs.yaml
  tests:
  - name: replicas are at most 10
    object: {apiVersion: stable.example.com/v1, kind: CronTab, spec: {image: a, replicas: 11}}
    causes: [{field: spec.replicas, message: less than or equal to 10}]

docs/testing.md describes all fields. Suites in the format of OpenShift's projects (onCreate and onUpdate) run too. With --server, the given CRDs take precedence over registered ones, for this run only.

Exit code 0: all tests pass. Exit code 1: a test fails, or the score of mutants is less than --min-score. Exit code 2: a suite has errors, or a test could not be evaluated, or the usage is wrong. All suites run, even after errors.`
}

func (c *testCommand) Validate() (err error) {
	if isStdinTwice(c.Files) {
		return errStdinTwice
	}
	if c.readsStdin(c.Files) {
		return errWatchStdin
	}
	if c.Coverage && c.Output != "text" && c.Output != "json" {
		return errors.New("--coverage needs -o text or json")
	}
	if c.names, err = regexp.Compile(c.Names); err != nil {
		return fmt.Errorf("--run: %w", err)
	}
	if err := c.mutateFlags.validate(c); err != nil {
		return err
	}
	return c.serviceFlags.validate()
}

// Run runs the suites of all files. With --watch, it runs them again after changes.
func (c *testCommand) Run(ctx context.Context, env environment) error {
	return c.repeat(ctx, env, func(env environment) error { return c.run(ctx, env) })
}

// run runs the suites of all files once.
func (c *testCommand) run(ctx context.Context, env environment) error {
	files := env.files(c.Recursive)
	run := &testRun{command: c, evaluators: evaluators{flags: &c.serviceFlags, opened: files.Open}}
	if c.Coverage {
		run.evaluators.coverage = &coverage{rules: map[ruleKey]*ruleCount{}}
	}
	defer run.evaluators.close()
	switch c.Output {
	case "json":
		run.out = &testJSON{w: env.stdout}
	case "text":
		run.out = &testText{w: env.stdout, verbose: c.Verbose}
	default:
		run.out = testReport{report.New(env.stdout, c.Output, program("test"))}
	}
	for _, name := range c.Files {
		info, err := os.Stat(name)
		isDirectory := err == nil && info.IsDir()
		names, err := files.Files(name)
		if err != nil {
			run.fail(&suite.Error{File: name, Message: err.Error()})
		}
		for _, file := range names {
			if err := run.file(ctx, files, file, isDirectory); err != nil {
				return err
			}
		}
	}
	if run.total.Tests == 0 && run.invalid == 0 {
		what := "no file has a suite"
		if run.suites > 0 {
			what = "no test matches --run"
		}
		run.fail(&suite.Error{File: c.Files[0], Message: what})
	}
	if c.Mutate && len(run.kept) > 0 {
		if err := run.mutate(ctx, env); err != nil {
			return err
		}
	}
	if err := run.out.close(run); err != nil {
		return err
	}
	switch {
	case run.invalid+run.total.Errors > 0:
		return incompleteError(counted(run.invalid+run.total.Errors, "error") + ": not all suites and tests ran")
	case run.lowScore() != "":
		fmt.Fprintln(env.stderr, "crdeval: "+run.lowScore())
		return errRejected
	case run.total.Failed > 0:
		return errRejected
	}
	return nil
}

// testPrinter prints the results of tests in one format.
type testPrinter interface {
	result(*suite.Result)
	fail(file string, line int, message string) // of a suite that could not run
	note(text string)
	close(*testRun) error
}

// testRun is the state of a run.
type testRun struct {
	command    *testCommand
	out        testPrinter
	evaluators evaluators
	suites     int
	invalid    int // errors in suites
	total      suite.Summary
	kept       []*suite.Suite   // for mutants
	mutants    *mutation.Report // nil without --mutate
}

// file runs the suites of a file. The error ends the run.
func (r *testRun) file(ctx context.Context, files input.Reader, name string, ofDirectory bool) error {
	text, err := files.ReadFile(name)
	if err != nil {
		return r.failed(&suite.Error{File: name, Message: err.Error()})
	}
	suites, others, invalid := suite.Read(name, text)
	switch {
	case invalid != nil:
		r.fail(invalid)
	case others > 0 && ofDirectory:
		r.note(fmt.Sprintf("%s: %s without a suite", name, counted(others, "document")))
	case others > 0:
		r.fail(&suite.Error{File: name, Message: "a document is not a suite: a suite has the field tests, and no kind"})
	}
	for _, s := range suites {
		r.suites++
		for _, warning := range s.Warnings {
			r.out.note("warning: " + warning)
		}
		if s.Select(r.command.names); len(s.Tests) == 0 {
			continue
		}
		failed := s.Run(ctx, r.evaluators.open, r.command.CRDs, func(result *suite.Result) {
			r.total.Add(result)
			r.out.result(result)
		})
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		if failed != nil {
			r.fail(failed)
		}
		r.evaluators.trim()
		if r.command.Mutate {
			r.kept = append(r.kept, s)
		}
	}
	return nil
}

func (r *testRun) note(text string) {
	if r.command.Verbose {
		r.out.note(text)
	}
}

// failed reports an error in a suite. The run continues.
func (r *testRun) failed(err error) error {
	r.fail(err)
	return nil
}

// fail reports errors in a suite.
func (r *testRun) fail(err error) {
	var several interface{ Unwrap() []error }
	if errors.As(err, &several) {
		for _, e := range several.Unwrap() {
			r.fail(e)
		}
		return
	}
	at := &suite.Error{Message: err.Error()}
	errors.As(err, &at)
	r.invalid++
	r.out.fail(at.File, at.Line, at.Message)
}
