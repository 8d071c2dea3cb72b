// Package filewatch waits for changes of the files that a run of a command reads.
package filewatch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/cmd/crdeval/repository"
)

// Wait returns after quietTime without a change, but at most maxWait after the first change.
const quietTime, maxWait = 100 * time.Millisecond, time.Second

// Files are the files that a run reads. Their directories are watched too, because editors replace files, and because
// new files can appear.
type Files struct {
	watcher *fsnotify.Watcher

	mu          sync.Mutex
	names       map[string]bool // of files
	directories map[string]bool // that are watched
	failure     error
}

// New returns a Files without files. Close ends the watch.
func New() (*Files, error) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	return &Files{watcher: watcher, names: map[string]bool{}, directories: map[string]bool{}}, nil
}

// Close stops watching.
func (f *Files) Close() { _ = f.watcher.Close() }

// Add watches a file or a directory, and the symbolic links on its path. If it does not exist, its nearest existing
// parent is watched.
func (f *Files) Add(name string) {
	path, err := filepath.Abs(name)
	if err != nil || name == "-" || repository.IsURL(name) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	links, target := follow(path)
	for _, link := range links {
		f.names[link] = true
		f.watch(filepath.Dir(link))
	}
	f.add(path)
	if target != path {
		f.add(target)
	}
}

// add watches a file or a directory. f.mu is held.
func (f *Files) add(path string) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		f.names[path] = true
		path = filepath.Dir(path)
	}
	f.watch(path)
}

// watch watches a directory, or its nearest existing parent. f.mu is held.
func (f *Files) watch(path string) {
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

// maxLinks bounds the links on a path. Linux has the same bound.
const maxLinks = 40

// follow returns the symbolic links on an absolute path, and what the path is without them. In Kubernetes, a file of a
// ConfigMap is a link to a path through a directory that is a link.
func follow(path string) (links []string, target string) {
	volume := filepath.VolumeName(path)
	parts := strings.Split(path[len(volume):], string(filepath.Separator))
	for done := 1; done <= len(parts); done++ {
		prefix := volume + strings.Join(parts[:done], string(filepath.Separator))
		to, err := os.Readlink(prefix)
		if err != nil || len(links) == maxLinks {
			continue
		}
		links = append(links, prefix)
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(prefix), to)
		}
		to = filepath.Join(append([]string{to}, parts[done:]...)...)
		volume = filepath.VolumeName(to)
		parts, done = strings.Split(to[len(volume):], string(filepath.Separator)), 0
	}
	return links, volume + strings.Join(parts, string(filepath.Separator))
}

// Failure returns why a directory cannot be watched, or nil.
func (f *Files) Failure() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failure
}

// concerns reports whether an event can change the result of a run.
func (f *Files) concerns(e fsnotify.Event) bool {
	if !e.Has(fsnotify.Create | fsnotify.Write | fsnotify.Remove | fsnotify.Rename) {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.directories[e.Name] && e.Has(fsnotify.Remove|fsnotify.Rename) {
		delete(f.directories, e.Name) // it may be created again
		return true
	}
	if f.names[e.Name] || workspace.IsFileName(filepath.Base(e.Name)) {
		return true
	}
	info, err := os.Stat(e.Name)
	return err == nil && info.IsDir() && filepath.Base(e.Name)[0] != '.'
}

// Wait waits for a change, and then until there are no more changes for a while. It returns nil when the context ends.
func (f *Files) Wait(ctx context.Context) error {
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
				return err
			}
		case e := <-f.watcher.Events:
			if !f.concerns(e) {
				continue
			}
			if quiet == nil {
				latest = time.Now().Add(maxWait)
			}
			quiet = time.After(min(quietTime, time.Until(latest)))
		}
	}
}
