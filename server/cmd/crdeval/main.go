// Command crdeval evaluates CustomResourceDefinitions and their objects as a Kubernetes API server does, in files or as
// a service.
//
// Each command has a file of its name. evaluator.go has the interface of what evaluates for admit; registrar.go,
// publisher.go, transformer.go, comparer.go and test_evaluator.go have those for the other commands. Each is implemented
// with the engine, and for --server in a file of its own. Package catalog has the CRDs of a run. service.go connects to
// the service of --server. results.go has the results that package report prints, escape.go escapes everything that
// commands print, and lsp.go has the settings of the language server. Package input reads the files of commands.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/app"
	"github.com/crdeval/crdeval/server/cmd/crdeval/download"
	"github.com/crdeval/crdeval/server/cmd/crdeval/input"
	"github.com/crdeval/crdeval/server/cmd/crdeval/report"
	"github.com/crdeval/crdeval/server/cmd/crdeval/terminal"
	"github.com/crdeval/crdeval/server/memory"
	"github.com/crdeval/crdeval/server/memory/delay"
)

// Exit codes. The help of each command describes them.
const (
	exitRejected = 1 // a negative result, such as a rejected object or a breaking change
	exitError    = 2 // wrong usage, unreadable input, a failed call
)

type cli struct {
	VersionFlag kong.VersionFlag `name:"version" env:"-" help:"Print the version and exit."`

	Serve       serveCommand       `cmd:"" help:"Run the service: gRPC, REST, health and metrics."`
	Check       checkCommand       `cmd:"" help:"Check CRDs in files as an API server does."`
	Admit       admitCommand       `cmd:"" help:"Check writes of objects in files as an API server does."`
	Test        testCommand        `cmd:"" help:"Run test suites of CRDs."`
	Generate    generateCommand    `cmd:"" help:"Generate valid and invalid objects of CRDs."`
	Convert     convertCommand     `cmd:"" help:"Convert objects in files to another version, or check conversion rules."`
	Migrate     migrateCommand     `cmd:"" help:"Migrate stored objects to the storage version of their CRD."`
	Diff        diffCommand        `cmd:"" help:"Report the changes between CRDs, and what they break."`
	Discover    discoverCommand    `cmd:"" help:"List the resources of CRDs, like kubectl api-resources."`
	OpenAPI     openapiCommand     `cmd:"" name:"openapi" help:"Print the OpenAPI document of CRDs."`
	Explain     explainCommand     `cmd:"" help:"Explain a resource or field of CRDs, like kubectl explain."`
	CRDs        crdsCommand        `cmd:"" name:"crds" help:"Fetch the CRDs that .crdeval.yaml lists by URL."`
	LSP         lspCommand         `cmd:"" name:"lsp" help:"Run a language server for editors, on stdin and stdout."`
	Playground  playgroundCommand  `cmd:"" help:"Serve a page that evaluates CRDs and objects while you type."`
	Healthcheck healthcheckCommand `cmd:"" help:"Report whether a service is serving."`
	Completion  completionCommand  `cmd:"" help:"Print a completion script for a shell."`
	Man         manCommand         `cmd:"" help:"Print a manual page."`
	Candidates  candidatesCommand  `cmd:"" name:"__complete" hidden:"" help:"Print the completions of a command line."`
	Version     versionCommand     `cmd:"" help:"Print the version."`
}

var description = kong.Description("Evaluates CustomResourceDefinitions and their objects as a Kubernetes API server does.")

// grammar returns the part of cli with the command that is the first of args, or the whole. kong takes longer for all
// commands than most commands run.
func grammar(args []string) any {
	all := reflect.TypeFor[cli]()
	version, _ := all.FieldByName("VersionFlag")
	for i := range all.NumField() {
		f := all.Field(i)
		_, isCommand := f.Tag.Lookup("cmd")
		if isCommand && len(args) > 0 && args[0] == cmp.Or(f.Tag.Get("name"), strings.ToLower(f.Name)) {
			return reflect.New(reflect.StructOf([]reflect.StructField{version, f})).Interface()
		}
	}
	return &cli{}
}

// model describes all commands.
func model() *kong.Application {
	return kong.Must(&cli{}, append(app.KongOptions(), description)...).Model
}

// The heap of a command grows to delay.Floor before a garbage collection, because most runs are short. A larger heap
// grows by heapGrowth bytes, or by heapPercent if that is more.
const (
	heapGrowth  = 8 << 20
	heapPercent = 20
)

// environment is what a command reads from and writes to.
type environment struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	interrupted    <-chan struct{} // closed on SIGINT and SIGTERM; nil: never
	program        string          // how users call the program; "": crdeval
	opened         func(string)    // receives the names of files and directories that are read; nil: not needed
}

// open reports that a file is read.
func (e *environment) open(name string) {
	if e.opened != nil {
		e.opened(name)
	}
}

// downloads reads CRDs from URLs and clusters.
var downloads = download.New(userAgent())

// files returns a reader of files. If recursive is true, directories include their subdirectories.
func (e *environment) files(recursive bool) input.Reader {
	return input.Reader{Stdin: e.stdin, Opened: e.opened, Remote: downloads, Recursive: recursive}
}

// isStdinTwice reports whether "-" is among the names more than once.
func isStdinTwice(lists ...[]string) bool {
	names := slices.Concat(lists...)
	return slices.Contains(names[slices.Index(names, "-")+1:], "-")
}

var errStdinTwice = errors.New("only one argument can be - (stdin)")

// errRejected ends a command with exitRejected. The command has printed the reason.
var errRejected = errors.New("rejected")

// incompleteError ends a command with exitError after it printed all results, because some of them are errors.
type incompleteError string

func (e incompleteError) Error() string { return string(e) }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	env := environment{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, interrupted: ctx.Done(),
		program: programOf(os.Args[0])}
	code := run(ctx, os.Args[1:], env)
	stop()
	os.Exit(code)
}

// programOf returns how users call a program: kubectl runs kubectl-crdeval as its plugin.
func programOf(path string) string {
	name := strings.TrimSuffix(filepath.Base(path), ".exe")
	if name == "kubectl-crdeval" {
		return "kubectl crdeval"
	}
	return "crdeval"
}

// exited carries the exit code of kong, as after --help, out of the parser.
type exited int

func run(ctx context.Context, args []string, env environment) (code int) {
	defer func() {
		if p := recover(); p != nil {
			e, ok := p.(exited)
			if !ok {
				panic(p)
			}
			code = int(e)
		}
	}()
	if len(args) > 0 && args[0] == "help" {
		args = append(slices.Clone(args[1:]), "--help")
	}
	program := cmp.Or(env.program, "crdeval")
	tolerant, unreadable := app.Tolerant()
	config, out := &configFile{}, &countingWriter{Writer: env.stdout}
	env.stdout = out
	errs := &escapeWriter{Writer: env.stderr, escape: workspace.PrintableLines}
	defer errs.Flush()
	parser, err := kong.New(grammar(args), append(append(app.KongOptions(), tolerant...),
		kong.Name(program), kong.Vars{"version": versionOfProgram()}, description,
		kong.Writers(env.stdout, env.stderr),
		kong.Exit(func(code int) { panic(exited(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(env, config),
	)...)
	if err != nil {
		fmt.Fprintln(env.stderr, "crdeval:", err)
		return exitError
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	command, err := parser.Parse(args)
	if usage := (*kong.ParseError)(nil); errors.As(err, &usage) {
		command = usage.Context
	}
	if err = errors.Join(unreadable(), err, emptyFlags(command)); err != nil {
		err = config.explain(clearError{err, command})
		reportFailure(out, command, err)
		fmt.Fprintf(errs, "crdeval: %v\nRun \"%s --help\" for usage.\n", err, commandOf(program, command))
		return exitError
	}
	if command.Selected().Name != "serve" { // its logs are escaped
		env.stderr = errs
	}
	if escape := escapeOf(command.Selected().Name, outputOf(command)); escape != nil {
		stdout := &escapeWriter{Writer: env.stdout, escape: escape}
		defer stdout.Flush()
		env.stdout = stdout
	}
	command.Bind(env)
	if outputOf(command) == "text" && terminal.Colored(out.Writer, os.Getenv) {
		colors := terminal.NewColorWriter(out.Writer)
		out.Writer = colors
		defer colors.Flush()
	}
	if command.Selected().Name != "serve" { // serve sets its own pace
		pacing, stop := context.WithCancel(ctx)
		defer stop()
		go memory.Pace(pacing, delay.Floor, heapGrowth, heapPercent)
	}
	err = command.Run()
	if err == nil || errors.Is(err, errRejected) {
		err = cmp.Or(out.err, err) // the output is incomplete
	}
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errRejected):
		return exitRejected
	default:
		if errors.Is(err, workspace.ErrInterrupted) && ctx.Err() != nil {
			err = workspace.ErrInterrupted // without the file that was being read
		}
		err = config.explain(err)
		reportFailure(out, command, err)
		fmt.Fprintf(errs, "crdeval: %v\n", err)
		return exitError
	}
}

// emptyFlags returns an error for each flag of serve with an empty text, as from a variable that is not set. Otherwise,
// --auth-token-file "$TOKENS" could start a server for everybody. ctx may be nil.
func emptyFlags(ctx *kong.Context) error {
	if selected(ctx) != "serve" {
		return nil // an empty --server overrides the configuration file
	}
	var errs []error
	for _, p := range ctx.Path {
		if p.Flag != nil && !p.Resolved && p.Flag.Target.Kind() == reflect.String && p.Flag.Target.Len() == 0 {
			errs = append(errs, fmt.Errorf("--%s is empty: give a value, or leave the flag out", p.Flag.Name))
		}
	}
	return errors.Join(errs...)
}

// clearError is an error of kong with a message that says what to do. The command may be nil.
type clearError struct {
	error
	command *kong.Context
}

// flagAsValue matches what kong reports if the value of a flag begins with "-".
var flagAsValue = regexp.MustCompile(`(--[\w-]+): expected (\w+) value but got "(-[^"]*)" \((?:short|long) flag\)(?:; perhaps .*)?`)

// rewrites are patterns of messages of kong and slog, with clearer texts.
var rewrites = []struct{ pattern, text string }{
	{`must be one of "",`, "must be one of "}, // without the flag, the value is empty
	{`slog: level string ("(?:[^"\\]|\\.)*"): .*`, "$1 is not debug, info, warn or error"},
	{`(--[\w-]+): (?:expected \w+ value but got "EOL" \(<EOL>\)|missing value, expecting "<arg>")`, "$1 has no value"},
	{`(unknown flag -\w), did you mean .*`, "$1"}, // one of all flags with one letter
	{`(must be one of .* but got "=[^"]*")`, "$1: write the value without ="},
}

// Error returns the message of kong after the rewrites. It also describes values that begin with "-", unknown commands,
// and arguments of commands that read files only from --crds.
func (e clearError) Error() string {
	text := e.error.Error()
	for _, r := range rewrites {
		text = regexp.MustCompile(r.pattern).ReplaceAllString(text, r.text)
	}
	const unexpected = "unexpected argument "
	switch argument, found := strings.CutPrefix(text, unexpected); {
	case !found:
	case selected(e.command) == "":
		text = "unknown command " + argument
	case selected(e.command) == "explain", selected(e.command) == "generate":
		text += ": use --crds for files with CRDs"
	}
	return flagAsValue.ReplaceAllStringFunc(text, func(text string) string {
		m := flagAsValue.FindStringSubmatch(text)
		if _, err := strconv.ParseFloat(m[3], 64); m[2] == "uint" && err == nil {
			return fmt.Sprintf("%s is %s: it must be 0 or more", m[1], m[3])
		}
		return fmt.Sprintf("%s has no value: %[2]s is read as a flag. If it is the value, use %[1]s=%[2]s", m[1], m[3])
	})
}

// Unwrap returns the error of kong.
func (e clearError) Unwrap() error { return e.error }

// countingWriter counts the bytes that it writes, and keeps the first error.
type countingWriter struct {
	io.Writer
	n   int
	err error
}

// Unwrap returns the writer that the bytes go to.
func (w *countingWriter) Unwrap() io.Writer { return w.Writer }

// Write implements io.Writer.
func (w *countingWriter) Write(text []byte) (int, error) {
	n, err := w.Writer.Write(text)
	w.n += n
	w.err = cmp.Or(w.err, err)
	return n, err
}

// outputOf returns the value of --output, or "" if the command has no such flag.
func outputOf(ctx *kong.Context) (format string) {
	for _, flag := range ctx.Flags() {
		if flag.Name == "output" {
			format, _ = ctx.FlagValue(flag).(string)
		}
	}
	return format
}

// reportFailure prints the error that ended a command, if its output is a report without it.
func reportFailure(out *countingWriter, ctx *kong.Context, err error) {
	if ctx == nil || ctx.Selected() == nil || errors.As(err, new(incompleteError)) {
		return
	}
	format := outputOf(ctx)
	escape := escapeOf(ctx.Selected().Name, format)
	if escape == nil {
		return
	}
	w := &escapeWriter{Writer: out, escape: escape}
	defer w.Flush()
	p := report.New(w, format, program(ctx.Selected().Name))
	if p != nil && (out.n == 0 || format == "github") { // else the report is complete
		_ = p.Close(&report.Run{Failure: err})
	}
}

// selected returns the name of the command, or "". ctx may be nil.
func selected(ctx *kong.Context) string {
	if ctx == nil || ctx.Selected() == nil {
		return ""
	}
	return ctx.Selected().Name
}

// commandOf returns the command whose arguments could not be parsed. ctx may be nil.
func commandOf(program string, ctx *kong.Context) string {
	if ctx != nil && ctx.Command() != "" {
		return program + " " + ctx.Selected().Name
	}
	return program
}
