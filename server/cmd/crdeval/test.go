package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/crdeval/crdeval/engine/suite"
	"github.com/crdeval/crdeval/server/cmd/crdeval/suiterun"
)

type testCommand struct {
	Files     []string `arg:"" help:"Files or directories with suites; - for stdin." name:"file" ext:"yaml,yml,json"`
	CRDs      []string `name:"crds" help:"File or directory with CRDs, in addition to those of the suites. For suites in OpenShift's format, they replace the CRDs of the project." placeholder:"FILE" ext:"yaml,yml,json" sep:"none"`
	Names     string   `name:"run" help:"Run only the tests whose names match this regular expression." placeholder:"REGEXP"`
	Output    string   `short:"o" placeholder:"FORMAT" default:"text" enum:"text,json,junit,sarif,github" help:"text; json: a line for each test; junit: a test case for each test; sarif: a SARIF 2.1.0 log; github: GitHub Actions annotations."`
	Coverage  bool     `help:"Also print the rules, defaults, enum values and branches of anyOf and oneOf that no test uses. Needs -o text or json."`
	Recursive bool     `short:"R" help:"Include subdirectories of directories. Like kubectl, does not follow symbolic links to directories."`
	Verbose   bool     `short:"v" help:"With text output, also list the tests that passed and the files without suites."`
	watchFlags
	mutateFlags  `group:"Mutation"`
	serviceFlags `group:"Service"`

	names *regexp.Regexp
}

// newTest declares crdeval test.
func newTest(i *invocation) *cobra.Command {
	return i.declare(&cobra.Command{
		Use: "test", GroupID: groupEvaluate,
		Short: "Run test suites of CRDs.",
		Long: `Runs test suites of CRDs. A suite is a YAML document that names its CRDs and has tests. A test has an object, and what an API server answers to its creation or update: whether it is allowed, the causes of a rejection, the resulting object, and the warnings. For example:

  crds: crontabs.yaml
  tests:
  - name: replicas are at most 10
    object: {apiVersion: stable.example.com/v1, kind: CronTab, spec: {image: a, replicas: 11}}
    causes: [{field: spec.replicas, message: less than or equal to 10}]

docs/testing.md describes all fields. Suites in the format of OpenShift's projects (onCreate and onUpdate) run too. With --server, the given CRDs take precedence over registered ones, for this run only.

Exit code 0: all tests pass. Exit code 1: a test fails, or the score of mutants is less than --min-score. Exit code 2: a suite has errors, or a test could not be evaluated, or the usage is wrong. All suites run, even after errors.`,
		Example: `  crdeval test suites/
  crdeval test suites/ --run replicas --mutate`,
	}, &testCommand{})
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
func (c *testCommand) run(ctx context.Context, env environment) (err error) {
	files := env.files(c.Recursive)
	services := &evaluators{flags: &c.serviceFlags, opened: env.open}
	defer services.close()
	run := &suiterun.Runner{Evaluators: services, Names: c.names, CRDs: c.CRDs, Verbose: c.Verbose, Keep: c.Mutate,
		Out: suiterun.NewPrinter(env.stdout, c.Output, c.Verbose, program("test"))}
	if c.Coverage {
		services.coverage = suiterun.NewCoverage()
		run.Coverage = services.coverage
	}
	for _, name := range c.Files {
		info, err := os.Stat(name)
		isDirectory := err == nil && info.IsDir()
		for _, s := range files.Sources(name) {
			text, err := s.Read(ctx)
			if err != nil {
				run.Fail(&suite.Error{File: s.Name, Message: err.Error()})
				continue
			}
			if err := run.File(ctx, s.Name, text, isDirectory); err != nil {
				return err
			}
		}
	}
	if run.Total.Tests == 0 && run.Invalid == 0 {
		what := "no file has a suite"
		if run.Suites > 0 {
			what = "no test matches --run"
		}
		run.Fail(&suite.Error{File: c.Files[0], Message: what})
	}
	if len(run.Ran) > 0 {
		if run.Mutants, err = c.runMutants(ctx, env, run.Ran); err != nil {
			return err
		}
	}
	if err := run.Out.Close(&run.Results); err != nil {
		return err
	}
	switch {
	case run.Errors() > 0:
		return incompleteError(counted(run.Errors(), "error") + ": not all suites and tests ran")
	case c.lowScore(run.Mutants) != "":
		fmt.Fprintln(env.stderr, "crdeval: "+c.lowScore(run.Mutants))
		return errRejected
	case run.Total.Failed > 0:
		return errRejected
	}
	return nil
}
