package directory

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/workspace"
)

// folder is a directory.
type folder struct {
	path       string
	info       os.FileInfo // at the last successful listing
	names      []string    // of its files, sorted
	unreadable problem
	watched    os.FileInfo // the directory that is watched, or nil
	unwatched  problem
}

// file is a file of a directory.
type file struct {
	path       string
	info       os.FileInfo       // of the target of links, at the last read; nil after a failure
	read       time.Time         // when it was read
	digest     [sha256.Size]byte // of the content
	waited     time.Time         // since when it is skipped because it is being written; or zero
	unreadable problem           // why the file cannot be read
	version    int64             // a new number for each content and each retry
	keys       []key             // of its CRDs and conversion rules, in their order
	retained   []key             // earlier ones that may be in an unreadable part
	errors     int               // unreadable manifests, and keys that occur twice
	manifests  map[key]*manifest // until they are registered
	duplicates map[key]string    // of the keys, those that belong to another file: its path, as logged
}

// key identifies a CRD, or the conversion rules of a CRD.
type key struct {
	crd   string // its name
	rules bool
}

// compare orders keys by name, and CRDs before their rules.
func (k key) compare(other key) int {
	if n := cmp.Compare(k.crd, other.crd); n != 0 || k.rules == other.rules {
		return n
	}
	if k.rules {
		return 1
	}
	return -1
}

// String returns the text for messages.
func (k key) String() string {
	if k.rules {
		return "the conversion rules of " + k.crd
	}
	return "the CRD " + k.crd
}

type manifest = workspace.Manifest

// clockGrain is the resolution of file times. If a file was read so soon after a change, its time may miss a later
// change.
const clockGrain = 2 * time.Second

// patience is the number of QuietPeriod times after which a file is read even if it still changes.
const patience = 20

// list returns the names of the files in a directory, sorted.
func (d *folder) list() (info os.FileInfo, names []string, err error) {
	if info, err = os.Stat(d.path); err != nil {
		return nil, nil, err
	}
	if !info.IsDir() {
		return nil, nil, errors.New("it is not a directory")
	}
	entries, err := os.ReadDir(d.path)
	after, gone := os.Stat(d.path)
	if err = cmp.Or(gone, err); err != nil { // the text of a missing directory is the same in each pass
		return nil, nil, err
	}
	for _, e := range entries {
		if !e.IsDir() && workspace.IsFileName(e.Name()) {
			names = append(names, e.Name())
		}
	}
	if len(names) == 0 && len(d.names) > 0 && (!os.SameFile(info, d.info) || !os.SameFile(info, after)) {
		err = errors.New("it was replaced by another directory, which has no manifests") // a volume was unmounted
	}
	return info, names, err
}

// scan lists the directories and reads all files that changed. The last list of an unreadable directory stays.
func (l *Loader) scan(ctx context.Context) {
	known := make(map[string]*file, len(l.files))
	for _, f := range l.files {
		known[f.path] = f
	}
	var files []*file
	l.reread = false
	for _, d := range l.directories {
		info, names, err := d.list()
		switch changed := d.unreadable.changed(err); {
		case changed && err != nil:
			l.log.ErrorContext(ctx, "a directory of CRDs cannot be read; what was registered from it stays",
				"directory", d.path, "error", err)
		case changed:
			l.log.InfoContext(ctx, "a directory of CRDs can be read again", "directory", d.path)
		}
		if err == nil {
			d.info, d.names = info, names
		}
		for _, name := range d.names {
			if ctx.Err() != nil {
				return // with an incomplete list, other files would seem to be missing
			}
			path := filepath.Join(d.path, name)
			f := cmp.Or(known[path], &file{path: path})
			if err != nil || l.readChanged(ctx, f) {
				files = append(files, f)
			}
		}
	}
	l.files = files
}

// readChanged reads a file if it may have changed. It reports whether the path is a file.
func (l *Loader) readChanged(ctx context.Context, f *file) bool {
	info, err := os.Stat(f.path)
	switch {
	case err == nil && info.IsDir():
		return false
	case err == nil && !info.Mode().IsRegular():
		err = errors.New("it is neither a regular file nor a link to one")
	case err == nil && (f.unchanged(info) || l.beingWritten(f, info)):
		return true
	}
	read := time.Now()
	var content []byte
	if err == nil {
		info, content, err = l.content(f.path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(f.path); err != nil { // it was removed after the listing, alone or with its directory
			l.reread = l.reread || f.version > 0
			return f.version > 0 // the next pass decides
		}
	}
	// After a failure, or if a broken file has a new time, even the same content is registered again.
	retry := f.unreadable != "" || err == nil && f.info != nil && !f.info.ModTime().Equal(info.ModTime()) && l.broken(f)
	if f.unreadable.changed(err) && err != nil {
		l.log.ErrorContext(ctx, "a file of CRDs cannot be read; what was registered from it stays",
			"file", f.path, "error", err)
	}
	f.waited = time.Time{}
	if err != nil {
		f.info = nil
		return true
	}
	f.info, f.read = info, read
	if digest := sha256.Sum256(content); digest != f.digest || retry {
		l.versions++
		f.digest, f.version = digest, l.versions
		l.parse(ctx, f, content, l.log)
	}
	return true
}

// readAgain reads the manifests of an unchanged file again.
func (l *Loader) readAgain(ctx context.Context, f *file) {
	if _, content, err := l.content(f.path); err == nil && sha256.Sum256(content) == f.digest {
		l.parse(ctx, f, content, slog.New(slog.DiscardHandler)) // errors were logged already
	} else {
		f.info, l.reread = nil, true // the next pass reads it
	}
}

// notified makes the next pass read a known file, even if its size and time stay the same, or watch a directory again
// that was removed or renamed.
func (l *Loader) notified(path string) {
	for _, d := range l.directories {
		if d.path == path {
			d.watched = nil
		}
	}
	for _, f := range l.files {
		if f.path == path {
			f.read = time.Time{}
		}
	}
}

// unchanged reports whether a file with info certainly has the content that was read.
func (f *file) unchanged(info os.FileInfo) bool {
	return f.info != nil && os.SameFile(f.info, info) && f.info.Size() == info.Size() &&
		f.info.ModTime().Equal(info.ModTime()) && f.read.Sub(info.ModTime()) > clockGrain
}

// beingWritten reports whether a file changed so recently that it may be incomplete. It gives up after a while.
func (l *Loader) beingWritten(f *file, info os.FileInfo) bool {
	now := time.Now()
	if age := now.Sub(info.ModTime()); age < 0 || age >= l.o.QuietPeriod {
		return false
	}
	if f.waited.IsZero() {
		f.waited = now
	}
	if now.Sub(f.waited) >= patience*l.o.QuietPeriod {
		return false
	}
	l.reread = true
	return true
}

// content reads a file of at most MaxFileBytes. Its info is from before the read.
func (l *Loader) content(path string) (info os.FileInfo, content []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = f.Close() }() // it is only read
	if info, err = f.Stat(); err == nil {
		content, err = io.ReadAll(io.LimitReader(f, l.o.MaxFileBytes+1))
	}
	if err == nil && int64(len(content)) > l.o.MaxFileBytes {
		err = fmt.Errorf("it is larger than %d bytes, the limit for one file: split it", l.o.MaxFileBytes)
	}
	return info, content, err
}

// parse reads the CRDs and the conversion rules in the content of a file.
func (l *Loader) parse(ctx context.Context, f *file, content []byte, log *slog.Logger) {
	before := slices.Concat(f.keys, f.retained)
	f.keys, f.retained, f.errors, f.manifests = nil, nil, 0, map[key]*manifest{}
	unnamed := false // a manifest may be one of the earlier ones
	manifests := workspace.Parse(workspace.Source{}, content, 0).Manifests
	if len(manifests) == 0 {
		f.invalid(ctx, log, f.path, "the file has no documents")
		unnamed = true
	}
	for _, m := range manifests {
		unnamed = !f.add(ctx, log, m) || unnamed
	}
	if unnamed {
		f.retained = slices.DeleteFunc(before, func(k key) bool { _, found := f.manifests[k]; return found })
	}
}

// add adds a manifest. It returns false if the manifest may be one that was registered before.
func (f *file) add(ctx context.Context, log *slog.Logger, m *manifest) bool {
	if m.Err != nil {
		line, column := positionOf(m.Err)
		f.invalid(ctx, log, position(f.path, line, column), m.Err.Error())
		return false
	}
	at := position(f.path, m.Line(), 0)
	for _, w := range m.Warnings {
		log.WarnContext(ctx, "a part of a file is ignored",
			"file", position(f.path, w.Position.Line, w.Position.Column), "warning", w.Text)
	}
	k := key{crd: m.CRD, rules: m.Conversion}
	switch {
	case k.rules && k.crd == "":
		f.invalid(ctx, log, at, "the conversion rules have no valid crd: set it to the name of the CRD")
		return false
	case k.rules:
		f.addKey(ctx, log, at, k, m)
		return true
	case m.AsCRD() == nil:
		log.DebugContext(ctx, "skipped a manifest that is not a CRD", "file", at, "apiVersion", m.APIVersion, "kind", m.Kind)
		return true
	}
	if k.crd = m.Name; k.crd == "" {
		f.invalid(ctx, log, at, "the CRD has no valid metadata.name")
		return false
	}
	if m.AsCRD().IsFragment() {
		log.WarnContext(ctx,
			"skipped a CRD without group, kind or versions, such as a patch; what was registered before stays", "file", at, "crd", m.Name)
		return false
	}
	f.addKey(ctx, log, at, k, m)
	return true
}

// addKey adds a manifest with its key, unless the file has it already.
func (f *file) addKey(ctx context.Context, log *slog.Logger, at string, k key, m *manifest) {
	if _, found := f.manifests[k]; found {
		f.invalid(ctx, log, at, fmt.Sprintf("the file already has %s: the first one is used", k))
		return
	}
	f.keys = append(f.keys, k)
	f.manifests[k] = m
}

// invalid records and logs an error at a position.
func (f *file) invalid(ctx context.Context, log *slog.Logger, at, text string) {
	f.errors++
	log.ErrorContext(ctx, "a manifest cannot be read; what was registered before stays", "file", at, "error", text)
}

// positionOf returns the position of an error about a manifest, 0 if it is unknown.
func positionOf(err error) (line, column int) {
	if e, ok := errors.AsType[*engine.Error](err); ok && e.Position != nil {
		return e.Position.Line, e.Position.Column
	}
	return 0, 0
}

// position formats a position in a file. line and column are 0 if they are unknown.
func position(path string, line, column int) string {
	for _, n := range []int{line, column} {
		if n == 0 {
			break
		}
		path += fmt.Sprintf(":%d", n)
	}
	return path
}
