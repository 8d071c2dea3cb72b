// Package directory registers the CRDs in directories of manifests, watches the directories, and registers changes.
//
// It reacts to changes of files only. What other clients register, change or delete in the catalog stays until the file
// changes or the process restarts, so that replicas do not undo each other's work. It deletes only CRDs that it has
// registered and that nobody has changed since.
//
// Errors in files are logged with their position, once per change. What was registered before stays.
//
//	scan.go      lists directories and detects changed files
//	read.go      reads the CRDs in a file
//	register.go  registers and deletes CRDs
//	watch.go     runs all of it when files change
package directory

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/crdeval/crdeval/server/registry"
)

// Registry is the part of registry.Registry that a Loader needs.
type Registry interface {
	// RegisterAll registers manifests in their order and returns a result for each.
	RegisterAll(ctx context.Context, catalog string, list []registry.Submission) ([]registry.Submitted, string, error)
	// CRD returns a CRD; revision "" is the current one.
	CRD(ctx context.Context, catalog, name, revision, atLeast string) (*registry.CRD, error)
	// Delete removes a CRD that has the etag.
	Delete(ctx context.Context, catalog, name, etag string) (token string, err error)
}

// The defaults of Options.
const (
	DefaultMaxFileBytes = 64 << 20
	DefaultSettle       = 250 * time.Millisecond
	DefaultPoll         = 30 * time.Second
)

// Options configure a Loader.
type Options struct {
	// Directories have the files *.yaml, *.yml and *.json to load; subdirectories are ignored. If two files have the
	// same CRD, the earlier directory wins, then the file whose name sorts first.
	Directories []string
	// Catalog is the catalog to register in. It must exist.
	Catalog string
	// MaxFileBytes bounds the size of a file. Default: DefaultMaxFileBytes.
	MaxFileBytes int64
	// Settle is how long files must stay unchanged before they are read, so that none is read half-written, and how
	// long a CRD must be missing from all files before it is deleted. Default: DefaultSettle.
	Settle time.Duration
	// Poll is the interval of scans without a notification: some file systems send none. Default: DefaultPoll.
	Poll time.Duration
	// Log receives registrations and errors. Default: slog.Default().
	Log *slog.Logger
}

// Loader loads directories. One goroutine may call Load, then Run; any may call Stats.
type Loader struct {
	registry Registry
	o        Options
	log      *slog.Logger
	now      func() time.Time

	directories []*folder
	sources     map[string]*source // the files, by path
	order       []string           // their paths, in the order of precedence
	touched     map[string]bool    // paths with a notification: they are read even if their times did not change
	unsettled   bool               // some files were skipped because they are being written

	owners     map[string]string    // CRD to the path of its file
	pending    map[place]submission // CRDs to register
	settled    map[string]string    // CRD to the file whose manifest was registered or rejected
	registered map[string]string    // CRD to the revision that the Loader registered
	missing    map[string]time.Time // registered CRDs that no file has, with the time since when
	duplicates map[place]string     // CRD in a file to the file that wins, as logged
	failure    failure

	mu    sync.Mutex
	stats Stats
}

// place is a CRD in a file.
type place struct{ path, name string }

// Stats describes the directories at one moment.
type Stats struct {
	Files, Broken int       // files without and with errors; an unreadable directory counts as Broken
	CRDs          int       // registered by the Loader
	LastSuccess   time.Time // the last scan after which everything was registered; zero for none
}

// New returns a Loader. All directories must be readable; later, an unreadable directory is retried.
func New(r Registry, o Options) (*Loader, error) {
	if o.MaxFileBytes <= 0 {
		o.MaxFileBytes = DefaultMaxFileBytes
	}
	if o.Settle <= 0 {
		o.Settle = DefaultSettle
	}
	if o.Poll <= 0 {
		o.Poll = DefaultPoll
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	l := &Loader{
		registry: r, o: o, log: o.Log, now: time.Now,
		sources: map[string]*source{}, touched: map[string]bool{}, owners: map[string]string{}, pending: map[place]submission{}, settled: map[string]string{},
		registered: map[string]string{}, missing: map[string]time.Time{}, duplicates: map[place]string{},
	}
	var errs []error
	for _, path := range o.Directories {
		d := &folder{path: filepath.Clean(path)}
		info, err := os.Stat(d.path)
		if err == nil && !info.IsDir() {
			err = errors.New("it is not a directory")
		}
		if err == nil {
			_, err = os.ReadDir(d.path)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("the directory of CRDs %s cannot be read: %w", path, err))
			continue
		}
		for _, other := range l.directories {
			if os.SameFile(other.seen, info) {
				errs = append(errs, fmt.Errorf("the directories of CRDs %s and %s are the same: name it once", other.path, path))
			}
		}
		d.seen = info
		l.directories = append(l.directories, d)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return l, nil
}

// Load reads all files and returns when everything is registered or rejected. It retries when the registry fails, until
// ctx ends; then it returns the context's cause.
func (l *Loader) Load(ctx context.Context) error {
	for {
		again := l.pass(ctx)
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if len(l.pending) == 0 && !l.unsettled {
			s := l.Stats()
			l.log.InfoContext(ctx, "loaded the directories of CRDs", "directories", l.o.Directories,
				"catalog", l.o.Catalog, "crds", s.CRDs, "files", s.Files, "broken", s.Broken)
			return nil
		}
		if err := sleep(ctx, again); err != nil {
			return err
		}
	}
}

// Stats returns the result of the last scan.
func (l *Loader) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stats
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
