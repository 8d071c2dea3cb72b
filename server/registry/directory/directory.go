// Package directory keeps a catalog as directories of manifests say: it registers what their files hold, watches them, and registers what changes.
//
// It acts on changes of files and on nothing else. What somebody else registers, changes or deletes in the catalog stays as it is until the file changes or
// the process starts anew, so that replicas that see a change at different times do not undo each other's work. What it deletes it has registered itself, and
// nobody has changed it since.
//
// Nothing that is wrong with a file ends the watching: it is logged, with its place, once for each change, and what was registered before stays.
//
// Where to read next: scan.go is what a directory holds and what of it has changed, read.go what a file holds, register.go what follows from that, watch.go when.
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

// Registry is what is needed of a registry.
type Registry interface {
	// RegisterAll registers manifests in their order, with an answer for each at its index.
	RegisterAll(ctx context.Context, catalog string, list []registry.Submission) ([]registry.Submitted, string, error)
	// CRD returns one at its current revision, for revision "".
	CRD(ctx context.Context, catalog, name, revision, atLeast string) (*registry.CRD, error)
	// Delete removes a CRD that has that etag.
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
	// Directories have the files *.yaml, *.yml and *.json that are loaded; not those below them. Where two files have a CRD of one name, the earlier directory
	// goes first, and in a directory the file whose name sorts first.
	Directories []string
	// Catalog is where CRDs are registered. It exists.
	Catalog string
	// MaxFileBytes bounds one file; a CRD in it is bounded by the registry. Default: DefaultMaxFileBytes.
	MaxFileBytes int64
	// Settle is how long nothing may change before files are read, so that those who write a file have written all of it; and how long a CRD has to be in
	// no file before it is deleted. Default: DefaultSettle.
	Settle time.Duration
	// Poll is how often directories are looked at although no change was noticed: some file systems tell of none. Default: DefaultPoll.
	Poll time.Duration
	// Log gets what happens. Default: slog.Default().
	Log *slog.Logger
}

// Loader loads directories. Load and Run are called by one goroutine, in this order; Stats by any.
type Loader struct {
	registry Registry
	o        Options
	log      *slog.Logger
	now      func() time.Time

	directories []*folder
	sources     map[string]*source // the files, by path
	order       []string           // their paths, in the order of precedence
	touched     map[string]bool    // paths of which a change was told: they are read whatever their times say
	unsettled   bool               // some files were left alone, since they are being written

	owners     map[string]string    // CRD to the path of the file that has it
	pending    map[place]submission // what has to be registered
	settled    map[string]string    // CRD to the file whose manifest was registered or refused
	registered map[string]string    // CRD to the revision that was registered from here
	missing    map[string]time.Time // CRDs registered from here that no file has: since when
	duplicates map[place]string     // the file that goes first, as it was told
	failure    failure

	mu    sync.Mutex
	stats Stats
}

// place is a CRD in a file.
type place struct{ path, name string }

// Stats is a moment's picture of the directories.
type Stats struct {
	Files, Broken int       // files without a problem and files with one; a directory that cannot be read counts as one with a problem
	CRDs          int       // registered from them and still there
	LastSuccess   time.Time // when they were last read and everything in them was in the registry; zero: never
}

// New makes a Loader of directories that can be read: one that cannot is an error now, and something to wait for later.
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
			err = errors.New("it is no directory")
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
				errs = append(errs, fmt.Errorf("the directories of CRDs %s and %s are one and the same: name it once", other.path, path))
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

// Load reads everything and returns when all of it is registered or found broken. While the registry fails it tries again, until ctx ends: then it returns the
// context's cause.
func (l *Loader) Load(ctx context.Context) error {
	for {
		again := l.pass(ctx)
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if len(l.pending) == 0 && !l.unsettled {
			s := l.Stats()
			l.log.InfoContext(ctx, "loaded the directories of CRDs", "directories", l.o.Directories, "catalog", l.o.Catalog, "crds", s.CRDs, "files", s.Files, "broken", s.Broken)
			return nil
		}
		if err := sleep(ctx, again); err != nil {
			return err
		}
	}
}

// Stats returns what the directories held when they were last read.
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
