package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/crdeval/crdeval/server/cmd/crdeval/filewatch"
	"github.com/crdeval/crdeval/server/cmd/crdeval/terminal"
)

// watchFlags are the flags of commands that can run again when files change.
type watchFlags struct {
	Watch bool `env:"-" file:"-" help:"Run again when an input file changes, or a new file appears in its directory. Ctrl-C ends the command with exit code 0."`
}

var errWatchStdin = errors.New("--watch cannot be used with - (stdin)")

// readsStdin reports whether files are watched and one of them is stdin.
func (w *watchFlags) readsStdin(lists ...[]string) bool {
	return w.Watch && slices.Contains(slices.Concat(lists...), "-")
}

// repeat calls a function once. With --watch, it calls the function again after each change until the context ends,
// even if a run fails.
func (w *watchFlags) repeat(ctx context.Context, env environment, once func(environment) error) error {
	if !w.Watch {
		return once(env)
	}
	files, err := filewatch.New()
	if err != nil {
		return fmt.Errorf("--watch: %w", err)
	}
	defer files.Close()
	env.opened = files.Add
	for first := true; ; first = false {
		if !first && terminal.IsTerminal(env.stdout) {
			fmt.Fprint(terminal.Unescaped(env.stdout), "\033[H\033[2J")
		}
		err := once(env)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil && !errors.Is(err, errRejected) {
			fmt.Fprintf(env.stderr, "crdeval: %s\n", printable([]byte(err.Error())))
		}
		if err := files.Failure(); err != nil {
			return fmt.Errorf("--watch: %w", err)
		}
		fmt.Fprintln(env.stderr, "crdeval: waiting for changes. Ctrl-C ends the command")
		if err := files.Wait(ctx); err != nil {
			return fmt.Errorf("--watch: %w", err)
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}
