// Command crdeval evaluates CustomResourceDefinitions and their objects as a Kubernetes API server does, in files or as
// a service.
//
// Each command has a file of its name, which declares its flags, its help and what it does. commands.go lists and runs
// them with cobra. evaluator.go has the interface of what evaluates for admit; registrar.go, publisher.go,
// transformer.go, comparer.go and test_evaluator.go have those for the other commands. Each is implemented with the
// engine, and for --server in a file of its own. Package catalog has the CRDs of a run. service.go connects to the
// service of --server. results.go has the results that package output prints, package terminal escapes everything that
// commands print, and lsp.go has the settings of the language server. Package input reads the files of commands, baseline
// what changed in them since a commit, and crdsources the CRDs that .crdeval.yaml lists. Package message converts between
// values of the engine and messages of the service.
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
	"slices"
	"strings"
	"syscall"

	"github.com/crdeval/crdeval/server/cmd/crdeval/download"
	"github.com/crdeval/crdeval/server/cmd/crdeval/input"
	"github.com/crdeval/crdeval/server/cmd/crdeval/terminal"
	"github.com/crdeval/crdeval/server/commandline"
)

// Exit codes. The help of each command describes them.
const (
	exitRejected = 1 // a negative result, such as a rejected object or a breaking change
	exitError    = 2 // wrong usage, unreadable input, nothing to evaluate, a failed call
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

// run runs the command of args, and returns the exit code.
func run(ctx context.Context, args []string, env environment) (code int) {
	i := &invocation{env: env, out: &countingWriter{Writer: env.stdout}}
	i.env.stdout = i.out
	errs := &terminal.EscapeWriter{Writer: env.stderr, Escape: terminal.PrintableLines}
	defer errs.Flush()
	i.errs = errs
	command, err := commandline.Execute(ctx, newRoot(i), args, i.out, errs)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errRejected):
		return exitRejected
	default:
		if errors.Is(err, input.ErrInterrupted) && ctx.Err() != nil {
			err = input.ErrInterrupted // without the file that was being read
		}
		i.reportFailure(command, err)
		fmt.Fprintf(errs, "crdeval: %v\n%s", err, commandline.Hint(command, err))
		return exitError
	}
}

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
