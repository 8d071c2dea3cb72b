package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/crdeval/crdeval/server/manifests"
	"github.com/crdeval/crdeval/server/repository"
)

// watchFlags are the flags of commands that can run again when files change.
type watchFlags struct {
	Watch bool `env:"-" help:"Run again when an input file changes, or a new file appears in its directory. Ctrl-C ends the command with exit code 0."`
}

var errWatchStdin = errors.New("--watch cannot be used with - (stdin)")

// readsStdin reports whether files are watched and one of them is stdin.
func (w *watchFlags) readsStdin(lists ...[]string) bool {
	return w.Watch && slices.Contains(slices.Concat(lists...), "-")
}

// Changes within watchQuiet of each other cause one run. A run waits at most watchMost for further changes.
const watchQuiet, watchMost = 100 * time.Millisecond, time.Second

// repeat calls a function once. With --watch, it calls the function again after each change until the context ends,
// even if a run fails.
func (w *watchFlags) repeat(ctx context.Context, env environment, once func(environment) error) error {
	if !w.Watch {
		return once(env)
	}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("--watch: %w", err)
	}
	defer func() { _ = watcher.Close() }()
	f := &watchedFiles{watcher: watcher, names: map[string]bool{}, directories: map[string]bool{}}
	env.opened = f.add
	for first := true; ; first = false {
		if !first && isTerminal(env.stdout) {
			fmt.Fprint(env.stdout, "\033[H\033[2J")
		}
		err := once(env)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil && !errors.Is(err, errRejected) {
			fmt.Fprintf(env.stderr, "crdeval: %s\n", printable([]byte(err.Error())))
		}
		if failed := f.takeFailure(); failed != nil {
			return fmt.Errorf("--watch: %w", failed)
		}
		fmt.Fprintln(env.stderr, "crdeval: waiting for changes. Ctrl-C ends the command")
		if err := f.wait(ctx); err != nil || ctx.Err() != nil {
			return err
		}
	}
}

// watchedFiles are the files that a run reads. Their directories are watched, because editors replace files, and
// because new files appear there.
type watchedFiles struct {
	watcher *fsnotify.Watcher

	mu          sync.Mutex
	names       map[string]bool // of files
	directories map[string]bool // that are watched
	failure     error
}

// add watches a file or a directory. If it does not exist, its nearest existing parent is watched.
func (f *watchedFiles) add(name string) {
	path, err := filepath.Abs(name)
	if err != nil || name == "-" || repository.IsURL(name) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		f.names[path] = true
		path = filepath.Dir(path)
	}
	for ; !f.directories[path]; path = filepath.Dir(path) {
		err := f.watcher.Add(path)
		if err == nil {
			f.directories[path] = true
			return
		}
		if parent := filepath.Dir(path); !errors.Is(err, os.ErrNotExist) || parent == path {
			f.failure = fmt.Errorf("%s: %w", path, err)
			return
		}
		f.names[path] = true
	}
}

// takeFailure returns why a directory cannot be watched, or nil.
func (f *watchedFiles) takeFailure() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failure
}

// concerns reports whether an event can change the result of a run.
func (f *watchedFiles) concerns(e fsnotify.Event) bool {
	if !e.Has(fsnotify.Create | fsnotify.Write | fsnotify.Remove | fsnotify.Rename) {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.directories[e.Name] && e.Has(fsnotify.Remove|fsnotify.Rename) {
		delete(f.directories, e.Name) // it may be created again
		return true
	}
	if f.names[e.Name] || manifests.IsFileName(filepath.Base(e.Name)) {
		return true
	}
	info, err := os.Stat(e.Name)
	return err == nil && info.IsDir() && filepath.Base(e.Name)[0] != '.'
}

// wait waits for a change, and then until there are no more changes for a while. It returns nil when the context ends.
func (f *watchedFiles) wait(ctx context.Context) error {
	var quiet <-chan time.Time
	var latest time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-quiet:
			return nil
		case err, open := <-f.watcher.Errors:
			if open && errors.Is(err, fsnotify.ErrEventOverflow) {
				return nil // events were lost
			}
			if open {
				return fmt.Errorf("--watch: %w", err)
			}
		case e := <-f.watcher.Events:
			if !f.concerns(e) {
				continue
			}
			if quiet == nil {
				latest = time.Now().Add(watchMost)
			}
			quiet = time.After(min(watchQuiet, time.Until(latest)))
		}
	}
}
