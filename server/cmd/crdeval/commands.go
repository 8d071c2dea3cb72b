package main

import (
	"cmp"
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/crdeval/crdeval/server/app"
	"github.com/crdeval/crdeval/server/cmd/crdeval/output"
	"github.com/crdeval/crdeval/server/cmd/crdeval/terminal"
	"github.com/crdeval/crdeval/server/commandline"
	"github.com/crdeval/crdeval/server/memory"
	"github.com/crdeval/crdeval/server/memory/delay"
	"github.com/crdeval/crdeval/server/settings"
)

// The groups of commands in the help.
const (
	groupEvaluate = "evaluate"
	groupConvert  = "convert"
	groupPublish  = "publish"
	groupServe    = "serve"
	groupOther    = "other"
)

const about = "Evaluates CustomResourceDefinitions and their objects as a Kubernetes API server does."

// description is the first part of the help and of the manual page.
const description = about + `

Most commands read files. With --server, they call a service instead. Environment variables set flags: CRDEVAL_ and the name of the flag in capitals, such as CRDEVAL_FIELD_VALIDATION. The file .crdeval.yaml has settings of check, admit and lsp.

Exit code 0: success. Exit code 1: a negative result, such as a rejected object. Exit code 2: wrong usage, unreadable input, nothing to evaluate, or a failed call.`

// newRoot declares crdeval.
func newRoot(i *invocation) *cobra.Command {
	root := commandline.NewRoot("crdeval", about, description, versionOfProgram())
	if i.env.program != "" {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: i.env.program}
	}
	root.AddGroup(
		&cobra.Group{ID: groupEvaluate, Title: "Evaluate CRDs and objects"},
		&cobra.Group{ID: groupConvert, Title: "Convert objects"},
		&cobra.Group{ID: groupPublish, Title: "Print what a server publishes"},
		&cobra.Group{ID: groupServe, Title: "Run a server"},
		&cobra.Group{ID: groupOther, Title: "Other commands"},
	)
	root.SetHelpCommandGroupID(groupOther)
	root.SetCompletionCommandGroupID(groupOther)
	for _, declare := range []func(*invocation) *cobra.Command{
		newCheck, newAdmit, newTest, newDiff, newGenerate, newConvert, newMigrate, newDiscover, newOpenapi, newExplain,
		newServe, newPlayground, newLsp, newHealthcheck, newCrds, newMan, newVersion,
	} {
		root.AddCommand(declare(i))
	}
	return root
}

// command has the settings of a command, and does what it is for.
type command interface {
	Run(ctx context.Context, env environment) error
}

// invocation is one run of the program.
type invocation struct {
	env  environment
	out  *countingWriter        // the stdout of env
	errs *terminal.EscapeWriter // the stderr of env, with escapes
}

// declare gives a cobra command the settings of a command. The cobra command runs it.
func (i *invocation) declare(c *cobra.Command, does command) *cobra.Command {
	return commandline.Declare(c, app.EnvironmentPrefix, does, func(ctx context.Context, set *settings.Set) error {
		return set.Explain(i.run(ctx, c, does))
	})
}

// The heap of a command grows to delay.Floor before a garbage collection, because most runs are short. A larger heap
// grows by heapGrowth bytes, or by heapPercent if that is more.
const (
	heapGrowth  = 8 << 20
	heapPercent = 20
)

// run runs a command whose settings are read.
func (i *invocation) run(ctx context.Context, c *cobra.Command, does command) error {
	env := i.env
	if c.Name() != "serve" { // its logs are escaped, and it sets its own pace
		env.stderr = i.errs
		pacing, stop := context.WithCancel(ctx)
		defer stop()
		go memory.Pace(pacing, delay.Floor, heapGrowth, heapPercent)
	}
	if outputOf(c) == "text" && terminal.Colored(i.out.Writer, os.Getenv) {
		colors := terminal.NewColorWriter(i.out.Writer)
		i.out.Writer = colors
		defer colors.Flush()
	}
	if escape := escapeOf(c.Name(), outputOf(c)); escape != nil {
		stdout := &terminal.EscapeWriter{Writer: i.out, Escape: escape}
		defer stdout.Flush()
		env.stdout = stdout
	}
	err := does.Run(ctx, env)
	if err == nil || errors.Is(err, errRejected) {
		err = cmp.Or(i.out.err, err) // the output is incomplete
	}
	return err
}

// outputOf returns the value of --output, or "" if the command has no such flag.
func outputOf(c *cobra.Command) string {
	if flag := c.Flags().Lookup("output"); flag != nil {
		return flag.Value.String()
	}
	return ""
}

// reportFailure prints the error that ended a command, if its output is a report without it.
func (i *invocation) reportFailure(c *cobra.Command, err error) {
	format := outputOf(c)
	escape := escapeOf(c.Name(), format)
	if escape == nil || errors.As(err, new(incompleteError)) {
		return
	}
	w := &terminal.EscapeWriter{Writer: i.out, Escape: escape}
	defer w.Flush()
	p := output.New(w, format, program(c.Name()))
	if p != nil && (i.out.n == 0 || format == "github") { // else the report is complete
		_ = p.Close(&output.Run{Failure: err})
	}
}

// escapeOf returns how the output of a command is escaped. nil: the command prints no text of manifests.
func escapeOf(command, format string) func(string) string {
	switch {
	case command == "openapi", format == "json", format == "sarif", command == "migrate":
		return terminal.PrintableJSON
	case format == "github": // its lines are commands
		return terminal.Printable
	case command == "admit", command == "check", command == "convert", command == "crds", command == "diff",
		command == "discover", command == "explain", command == "generate", command == "test":
		return terminal.PrintableLines
	}
	return nil
}
