package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/cmd/crdeval/input"
)

type admitCommand struct {
	Files []string `arg:"" help:"Files or directories with objects, and optionally their CRDs; - for stdin." name:"file" ext:"yaml,yml,json"`
	CRDs  []string `name:"crds" help:"File, directory or https:// URL with CRDs. A URL can end with #sha256=HEX. kube://CONTEXT: the CRDs of the cluster of a kubeconfig context; kube:// is the current one." placeholder:"FILE" ext:"yaml,yml,json" sep:"none"`
	Old   []string `help:"File or directory with existing objects. A write of an object with the same kind, namespace and name is an update." placeholder:"FILE" ext:"yaml,yml,json" sep:"none"`
	inputFlags

	Base string `env:"-" help:"Evaluate only the files that changed since the merge base of HEAD and this commit, such as origin/main. If a CRD changed, evaluate all files. Objects and CRDs that existed before are checked as updates. Needs --repository." placeholder:"COMMIT"`

	AllowMissingCRDs bool `name:"allow-missing-crds" help:"Count objects without a CRD, but do not treat them as errors."`

	Namespace       string `short:"n" placeholder:"NAME" default:"default" help:"Namespace of objects without one."`
	Subresource     string `help:"Update a subresource: status, or scale (the files contain autoscaling/v1 Scales). Needs --old or a patch." placeholder:"NAME" enum:"status,scale"`
	Patch           string `short:"p" help:"Patch the objects of the files with this JSON or YAML patch." placeholder:"PATCH"`
	PatchFile       string `help:"Patch the objects of the files with the patch in this file." placeholder:"FILE"`
	Type            string `default:"merge" enum:"merge,json" help:"Type of the patch: merge (RFC 7386) or json (RFC 6902)."`
	FieldValidation string `default:"strict" enum:"strict,warn,ignore" help:"Handling of unknown and duplicate fields: strict (reject, the default of kubectl), warn (the default of API servers), ignore."`

	Output        string `short:"o" placeholder:"FORMAT" default:"text" enum:"text,json,junit,sarif,github,yaml,stored,table,wide" help:"text; json: a line for each object; junit: a test case for each object; sarif: a SARIF 2.1.0 log; github: GitHub Actions annotations; yaml: the objects as the API server returns them; stored: as it stores them; table, wide: like kubectl get."`
	Explain       bool   `help:"Also print defaulted fields, ratcheted violations, and the values in rules that failed."`
	Quiet         bool   `short:"q" help:"With text output, print only objects with violations, warnings or errors."`
	FieldSelector string `help:"With yaml, stored, table and wide: print only objects that match this selector, such as spec.color=blue." placeholder:"SELECTOR"`
	NoHeaders     bool   `help:"With table and wide: print no headers."`
	Now           string `help:"With table and wide: the time from which ages are computed (RFC 3339). Default: the current time." placeholder:"TIME"`

	ItemTimeout time.Duration `default:"10s" help:"Maximum time for one object."`
	ciFlags     `group:"Repository and CI"`
	watchFlags
	Progress     string `default:"auto" enum:"auto,always,never" help:"Print the progress of long runs on stderr. auto: on a terminal."`
	serviceFlags `group:"Service"`

	now     time.Time
	sources []string // files of crd-sources
}

// newAdmit declares crdeval admit.
func newAdmit(i *invocation) *cobra.Command {
	return i.declare(&cobra.Command{
		Use: "admit", GroupID: groupEvaluate,
		Short: "Check writes of objects in files as an API server does.",
		Long: `Checks writes of objects as an API server does. Each object is created, or updated if --old has an object of the same kind, namespace and name. Prints for each object whether it is allowed, and its violations with their positions. Fields that only a server sets (uid, creationTimestamp, a generated name) may be missing.

Files are JSON or YAML, with one or several documents, or lists. CRDs come from --crds, from the files, or with --repository also from the rest of the git repository. A CRD that has the condition Established, as in the output of kubectl get crd -o yaml, is used without validation. Other CRDs are validated first. With --server, the given CRDs take precedence over registered ones, for this run only.

Exit code 0: no CRD and no object is rejected. Exit code 1: a CRD or an object is rejected. Exit code 2: a document could not be checked (for example an object without a CRD), nothing was evaluated, or the usage is wrong. All documents are checked, even after errors. If both 1 and 2 apply, the exit code is 2.

Helm templates, kustomizations and their patches are skipped. Flags can also be set in .crdeval.yaml.`,
		Example: `  crdeval admit --crds crds/ objects/
  crdeval admit --repository . -o github
  kubectl get crontabs -A -o yaml | crdeval admit --crds crds/ -`,
	}, &admitCommand{ciFlags: ciFlags{section: "admit"}})
}

func (c *admitCommand) Validate() error {
	if c.Repository {
		c.Recursive, c.SkipOtherKinds = true, true
	}
	printsObjects := slices.Contains([]string{"yaml", "stored", "table", "wide"}, c.Output)
	switch {
	case isStdinTwice(c.Files, c.CRDs, c.Old, []string{c.PatchFile}):
		return errStdinTwice
	case c.readsStdin(c.Files, c.CRDs, c.Old, []string{c.PatchFile}):
		return errWatchStdin
	case c.Patch != "" && c.PatchFile != "":
		return errors.New("--patch and --patch-file cannot be used together")
	case c.patching() && len(c.Old) > 0:
		return errors.New("--old cannot be used with a patch: the patch applies to the objects of the files")
	case c.Base != "" && !c.Repository:
		return errors.New("--base needs --repository")
	case c.Base != "" && (len(c.Old) > 0 || c.patching()):
		return errors.New("--base cannot be used with --old or a patch: the existing objects are those of the commit")
	case c.Base != "" && c.Server != "":
		return errors.New("--base cannot be used with --server: a service checks CRDs against the registered ones")
	case c.Subresource != "" && len(c.Old) == 0 && !c.patching():
		return errors.New("--subresource needs --old or a patch: a write to a subresource is an update")
	case c.Type != "merge" && !c.patching():
		return errors.New("--type needs --patch or --patch-file")
	case c.Subresource == "scale" && (c.FieldSelector != "" || c.Output == "table" || c.Output == "wide"):
		return errors.New("--field-selector and -o table and wide cannot be used with --subresource scale: the results are Scales")
	case c.FieldSelector != "" && !printsObjects:
		return errors.New("--field-selector needs -o yaml, stored, table or wide")
	case c.Output != "table" && c.Output != "wide" && (c.NoHeaders || c.Now != ""):
		return errors.New("--no-headers and --now need -o table or wide")
	case c.ItemTimeout <= 0:
		return errors.New("--item-timeout must be more than 0")
	}
	c.now = time.Now()
	if c.Now != "" {
		now, err := time.Parse(time.RFC3339, c.Now)
		if err != nil {
			return fmt.Errorf("--now: %q is not a time in RFC 3339 format, such as 2026-01-31T12:00:00Z", c.Now)
		}
		c.now = now
	}
	return c.validate()
}

// evaluator returns the evaluator of a run: the engine in this process, or the service of --server.
func (c *admitCommand) evaluator(w *workspace.Workspace) (evaluator, error) {
	if c.Server == "" {
		return &localEvaluator{workspace: w}, nil
	}
	service, err := c.dial()
	if err != nil {
		return nil, err
	}
	return newRemoteEvaluator(service, w), nil
}

// reader returns the reader of the files of a run.
func (c *admitCommand) reader(env environment) (input.Reader, error) {
	filter, err := c.filter()
	files := env.files(c.Recursive)
	files.Filter = filter
	return files, err
}

func (c *admitCommand) patching() bool { return c.Patch != "" || c.PatchFile != "" }

func (c *admitCommand) printer(ctx context.Context, env environment, a *admission) printer {
	p := newPrinter(env.stdout, c.Output, "admit", c, (*tally).writesSummary)
	if c.Output == "text" {
		p = &textPrinter{w: env.stdout, command: c, quiet: c.Quiet || c.Repository}
	}
	if p == nil {
		messages := &textPrinter{w: env.stderr, command: c, quiet: true}
		p = &objectsPrinter{ctx: ctx, a: a, w: env.stdout, messages: messages, command: c}
	}
	return withSummary(p, c.Summary, "admit", c, (*tally).writesSummary)
}

// Run checks every object of every file, with --watch again after changes.
func (c *admitCommand) Run(ctx context.Context, env environment) error {
	return c.repeat(ctx, env, func(env environment) (err error) {
		if c.sources, err = c.config.sources.Files(); err != nil {
			return err
		}
		return c.admit(ctx, env)
	})
}
