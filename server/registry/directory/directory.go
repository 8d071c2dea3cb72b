// Package directory registers the CRDs in directories of manifests, watches the directories, and registers changes. It
// also sets the conversion rules in the directories.
//
// Each pass lists the directories, reads the changed files, and determines the file of each CRD. Then it registers the
// CRDs whose file differs from the one registered last, and deletes those that have no file any more. After the CRDs, it
// does the same with conversion rules.
//
// It reacts to changes of files only. What other clients register, change or delete in the catalog stays until the file
// changes or the process restarts, so that replicas do not undo each other's work. It deletes only CRDs that it has
// registered and that have not changed since.
//
// Errors in files are logged with their position, once per change. What was registered before stays.
//
//	read.go      lists directories and reads changed files
//	register.go  registers and deletes CRDs
//	conversion.go  sets and removes conversion rules
package directory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/crdeval/crdeval/server/registry"
)

// Registry is the part of registry.Registry that a Loader needs.
type Registry interface {
	// RegisterAll registers manifests in their order and returns a result for each.
	RegisterAll(ctx context.Context, catalog string, list []registry.Submission) ([]registry.Submitted, string, error)
	// SetConversion sets or removes the conversion rules of a CRD.
	SetConversion(ctx context.Context, catalog, name string, change registry.ConversionChange) (registry.Registration, error)
	// CRD returns a CRD; revision "" is the current one.
	CRD(ctx context.Context, catalog, name, revision, atLeast string) (*registry.CRD, error)
	// Delete removes a CRD that has the etag.
	Delete(ctx context.Context, catalog, name string, p registry.Precondition) (token string, err error)
}

// Options configure a Loader.
type Options struct {
	// Directories have the files *.yaml, *.yml and *.json to load; subdirectories are ignored. If two files have the
	// same CRD, the earlier directory wins, then the file whose name sorts first.
	Directories []string
	// Catalog is the catalog to register in. It must exist.
	Catalog string
	// MaxFileBytes bounds the size of a file. Default: 64 MiB.
	MaxFileBytes int64
	// QuietPeriod is how long files must stay unchanged before they are read, so that none is read half-written, and how
	// long a CRD must be missing from all files before it is deleted. Default: 250 ms.
	QuietPeriod time.Duration
	// Poll is the interval of passes without a notification: some file systems send none. Default: 30 s.
	Poll time.Duration
	// Log receives registrations and errors. Default: slog.Default().
	Log *slog.Logger
}

// Loader loads directories. One goroutine may call Run; any may call Stats.
type Loader struct {
	registry Registry
	o        Options
	log      *slog.Logger

	directories []*folder
	files       []*file // in the order of precedence
	entries     map[key]*registration
	versions    int64         // of files, so far
	writes      int64         // of CRDs, so far
	reread      bool          // some files must be read again soon
	failure     string        // the failure of the registry, as logged; or empty
	retry       time.Duration // the pause after the failure

	stats atomic.Pointer[Stats]
}

// Stats describes the directories at one moment.
type Stats struct {
	Files, Broken int       // files without and with errors; an unreadable directory counts as Broken
	CRDs          int       // registered by the Loader
	LastSuccess   time.Time // the last pass after which everything was registered; zero for none
}

// New returns a Loader. All directories must be readable; later, an unreadable directory is retried.
func New(r Registry, o Options) (*Loader, error) {
	o.MaxFileBytes = cmp.Or(o.MaxFileBytes, 64<<20)
	o.QuietPeriod = cmp.Or(o.QuietPeriod, 250*time.Millisecond)
	o.Poll = cmp.Or(o.Poll, 30*time.Second)
	o.Log = cmp.Or(o.Log, slog.Default())
	l := &Loader{registry: r, o: o, log: o.Log, entries: map[key]*registration{}}
	l.stats.Store(&Stats{})
	var errs []error
	for _, path := range o.Directories {
		d := &folder{path: filepath.Clean(path)}
		info, _, err := d.list()
		if err != nil {
			errs = append(errs, fmt.Errorf("the directory of CRDs %s cannot be read: %w", path, err))
			continue
		}
		for _, other := range l.directories {
			if os.SameFile(other.info, info) {
				errs = append(errs, fmt.Errorf("the directories of CRDs %s and %s are the same: name it once", other.path, path))
			}
		}
		d.info = info
		l.directories = append(l.directories, d)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return l, nil
}

// Run reads all files and registers their changes until ctx ends. It retries while the registry fails. It calls loaded
// once, when everything is registered or rejected for the first time.
func (l *Loader) Run(ctx context.Context, loaded func()) {
	var notifications chan fsnotify.Event
	var failures chan error
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		l.log.WarnContext(ctx, "the system sends no notifications: the directories of CRDs are polled",
			"every", l.o.Poll, "error", err)
	} else {
		defer func() { _ = watcher.Close() }()
		notifications, failures = watcher.Events, watcher.Errors
	}
	for {
		if watcher != nil {
			l.watch(ctx, watcher)
		}
		timer := time.NewTimer(l.pass(ctx))
		if loaded != nil && ctx.Err() == nil && l.failure == "" && !l.reread {
			s := l.Stats()
			l.log.InfoContext(ctx, "loaded the directories of CRDs", "directories", l.o.Directories,
				"catalog", l.o.Catalog, "crds", s.CRDs, "files", s.Files, "broken", s.Broken)
			if s.CRDs == 0 && s.Broken == 0 {
				l.log.WarnContext(ctx, "the directories contain no CRD; subdirectories are not read",
					"directories", l.o.Directories)
			}
			loaded()
			loaded = nil
		}
		for waiting, notified := true, false; waiting; {
			select {
			case <-ctx.Done():
				timer.Stop()
				return
			case <-timer.C:
				waiting = false
				continue
			case changed := <-notifications:
				l.notified(changed.Name)
			case err := <-failures: // notifications were lost, mostly because there were too many
				l.log.DebugContext(ctx, "watching the directories of CRDs", "error", err)
			}
			if !notified { // further changes do not delay the pass
				notified = true
				timer.Reset(l.o.QuietPeriod)
			}
		}
	}
}

// watch watches the directories that are at their paths now: after a replacement, a watch stays with the old directory.
// It does not renew other watches, because that would lose notifications.
func (l *Loader) watch(ctx context.Context, w *fsnotify.Watcher) {
	for _, d := range l.directories {
		info, err := os.Stat(d.path)
		if err == nil && d.watched != nil && os.SameFile(d.watched, info) {
			continue
		}
		d.watched = nil
		_ = w.Remove(d.path) // it may be unwatched
		if err == nil {
			err = w.Add(d.path)
		}
		if err == nil {
			d.watched = info
		}
		if d.unwatched.changed(err) && err != nil && !errors.Is(err, os.ErrNotExist) { // a pass logs a missing directory
			l.log.WarnContext(ctx, "cannot watch a directory of CRDs: it is polled",
				"directory", d.path, "every", l.o.Poll, "error", err)
		}
	}
}

// Stats returns the result of the last pass.
func (l *Loader) Stats() Stats { return *l.stats.Load() }

// problem is the text of the last error, which is logged once.
type problem string

// changed records an error, or nil, and reports whether its text changed.
func (p *problem) changed(err error) bool {
	before := *p
	*p = ""
	if err != nil {
		*p = problem(err.Error())
	}
	return *p != before
}
