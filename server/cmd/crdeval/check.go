package main

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/workspace"
)

// inputFlags are the flags of commands that read a repository.
type inputFlags struct {
	Recursive      bool `short:"R" help:"Include subdirectories of directories. Like kubectl, does not follow symbolic links to directories."`
	SkipOtherKinds bool `help:"Skip documents that are not for this command, such as Helm values. Default: they are errors."`
	AllowEmpty     bool `help:"Exit with 0 if the files have nothing to evaluate, for example in a hook that gets only templates. Default: this is an error."`
	Verbose        bool `short:"v" help:"With text output, list each skipped file and document."`
}

type checkCommand struct {
	Files           []string `arg:"" help:"Files or directories with CRDs; - for stdin." name:"file" ext:"yaml,yml,json"`
	Output          string   `short:"o" placeholder:"FORMAT" default:"text" enum:"text,json,junit,sarif,github" help:"text; json: a line for each CRD; junit: a test case for each CRD; sarif: a SARIF 2.1.0 log; github: GitHub Actions annotations."`
	Old             []string `help:"File, directory, https:// URL or kube://CONTEXT with existing CRDs. A CRD with the same name is checked as an update." placeholder:"FILE" ext:"yaml,yml,json" sep:"none"`
	FieldValidation string   `default:"strict" enum:"strict,warn,ignore" help:"Handling of unknown and duplicate fields: strict (reject, the default of kubectl), warn (the default of API servers), ignore."`
	inputFlags
	ciFlags `group:"Repository and CI"`
	watchFlags
	serviceFlags `group:"Service"`
}

// fieldValidations are the values of --field-validation.
var fieldValidations = map[string]engine.FieldValidation{
	"strict": engine.FieldValidationStrict, "warn": engine.FieldValidationWarn, "ignore": engine.FieldValidationIgnore,
}

// newCheck declares crdeval check.
func newCheck(i *invocation) *cobra.Command {
	return i.declare(&cobra.Command{
		Use: "check", GroupID: groupEvaluate,
		Short: "Check CRDs in files as an API server does.",
		Long: `Checks CustomResourceDefinitions as an API server does. Prints for each CRD whether it is accepted, its violations with their positions, its versions in order of priority, the cost of its rules, and the oldest Kubernetes minor version that it works with.

Files are JSON or YAML, with one or several documents, or lists. A document with the field crd and without a kind contains the conversion rules of a CRD. These rules are checked after all CRDs, and their laws are tested on generated objects. The CRDs of a run are registered one after the other, as in one cluster: a later CRD of the same name is an update, and conflicting names are reported. With --repository, a CRD is checked as an update only of a CRD of --old, because folders of a repository can have different versions of a CRD. With --server, each CRD is checked as if it were registered with the service, but nothing is registered.

Exit code 0: all CRDs are accepted. Exit code 1: a CRD is rejected. Exit code 2: a document could not be checked, the files have no CRD, or the usage is wrong. All documents are checked, even after errors.

Helm templates, kustomizations and their patches are skipped. Flags can also be set in .crdeval.yaml.`,
		Example: `  crdeval check crds/
  crdeval check --old live.yaml --repository .`,
	}, &checkCommand{ciFlags: ciFlags{section: "check"}})
}

func (c *checkCommand) Validate() error {
	if c.Repository {
		c.Recursive, c.SkipOtherKinds = true, true
	}
	switch {
	case c.Server != "" && len(c.Old) > 0:
		return errors.New("--old cannot be used with --server: the service has the existing CRDs")
	case isStdinTwice(c.Files, c.Old):
		return errStdinTwice
	case c.readsStdin(c.Files, c.Old):
		return errWatchStdin
	}
	return c.validate()
}

// Run checks every document, with --watch again after changes.
func (c *checkCommand) Run(ctx context.Context, env environment) error {
	return c.repeat(ctx, env, func(env environment) error {
		if _, err := c.config.sources.Files(); err != nil {
			return err
		}
		return c.check(ctx, env)
	})
}

// check checks every document once.
func (c *checkCommand) check(ctx context.Context, env environment) error {
	with, err := c.open()
	if err != nil {
		return err
	}
	defer with.close()
	filter, err := c.filter()
	if err != nil {
		return err
	}
	files := env.files(c.Recursive)
	files.Filter = filter
	old, err := files.CRDs(ctx, c.Old...)
	if err != nil {
		return err
	}
	for _, crd := range old {
		if j := with.registerCRD(ctx, crd, registration{adopts: true}); j.Error != "" {
			return fmt.Errorf("%s: %s", errorPlace(crd, j.Line, j.Column), j.Error)
		}
	}
	total := tally{skipped: map[string]int{}, allowEmpty: c.AllowEmpty, inputs: "no CRD and no conversion rules"}
	out := c.printer(env)
	report := func(j *crdReport) error {
		total.crd(j)
		if j.Skipped == "" {
			total.own++
		}
		return out.crd(j)
	}
	var rules []*workspace.Manifest // after all CRDs
	for f := range files.Given(ctx, c.Files...) {
		if total.skip(f); f.Err != nil {
			total.unreadable = append(total.unreadable, f)
			j := newReport(&workspace.Manifest{Err: f.Err, File: f.Name})
			j.Error = f.Err.Error()
			if err := out.crd(j); err != nil {
				return err
			}
		}
		for _, s := range f.Manifests {
			if s.Conversion {
				rules = append(rules, s)
			} else if err := report(c.document(ctx, with, s)); err != nil {
				return err
			}
		}
	}
	known := givenRules{}
	for _, s := range rules {
		if err := report(known.set(ctx, with, s)); err != nil {
			return err
		}
	}
	if err := out.close(&total); err != nil {
		return err
	}
	return total.result()
}

func (c *checkCommand) printer(env environment) printer {
	p := newPrinter(env.stdout, c.Output, "check", nil, (*tally).crdSummary)
	if c.Output == "text" {
		p = &checkPrinter{w: env.stdout, verbose: c.Verbose}
	}
	return withSummary(p, c.Summary, "check", nil, (*tally).crdSummary)
}

// checkPrinter prints the reports of CRDs as text.
type checkPrinter struct {
	printer // nil: check has no objects
	w       io.Writer
	verbose bool
}

func (p *checkPrinter) crd(j *crdReport) error {
	if j.Skipped == "" || p.verbose {
		return j.print(p.w)
	}
	return nil
}

func (p *checkPrinter) close(t *tally) error {
	_, err := fmt.Fprint(p.w, t.skippedLines(p.verbose), t.crdSummary(), "\n")
	return err
}

// document checks a document.
func (c *checkCommand) document(ctx context.Context, with registrar, s *workspace.Manifest) *crdReport {
	j := newReport(s)
	switch other := s.Err == nil && s.Kind != workspace.CRDKind; {
	case c.skipReason(s) != "":
		j.skip(s.Kind, c.skipReason(s))
	case other && workspace.GroupOf(s.APIVersion) == apiextensionsv1.GroupName && s.Kind != "":
		j.Error = fmt.Sprintf("there is no kind %s in group %s: did you mean %s?", s.Kind, apiextensionsv1.GroupName, workspace.CRDKind)
	case other && c.SkipOtherKinds && (s.Kind != "" || s.APIVersion == ""):
		j.skip(s.Kind, notACRD(s))
	case other && s.Kind != "":
		j.Error = notACRD(s) + ": remove it, or use --skip-other-kinds"
	case other && s.APIVersion == "":
		j.Error = fmt.Sprintf("the document has no apiVersion and no kind: add apiVersion %s/v1 and kind %s, remove the document, "+
			"or use --skip-other-kinds", apiextensionsv1.GroupName, workspace.CRDKind)
	case s.AsCRD() != nil && s.AsCRD().IsFragment() && c.Repository && !c.names(s.File):
		j.skip(string(workspace.ClassFragment), "the CustomResourceDefinition has no group, kind or versions")
	case s.Err != nil && c.Repository && !s.MayBeObject():
		j.skip(string(workspace.ClassUntyped), "it cannot be read, and its file has no apiVersion and no kind")
	case s.IsTemplate:
		j.skip(workspace.SkipTemplate, "a part of a template: it contains {{ or {%")
	default:
		return with.registerCRD(ctx, s, registration{apart: c.Repository, validation: fieldValidations[c.FieldValidation]})
	}
	if j.Error != "" {
		j.Line = s.Line()
	}
	return j
}

// names reports whether a file is named in the arguments, not only the folder that has it.
func (c *checkCommand) names(file string) bool { return slices.Contains(c.Files, file) }

// notACRD describes the kind of a document.
func notACRD(s *workspace.Manifest) string {
	if s.Kind == "" {
		return "the document has no kind"
	}
	return fmt.Sprintf("the document is a %s (%s), not a %s", s.Kind, cmp.Or(s.APIVersion, "without apiVersion"), workspace.CRDKind)
}
