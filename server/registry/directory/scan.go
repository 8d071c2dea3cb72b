package directory

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// folder is a directory.
type folder struct {
	path    string
	seen    os.FileInfo // at the last successful listing
	names   []string    // of its files, sorted
	problem string      // why it cannot be read, as logged; or empty
}

// stamp identifies a version of a file without its contents.
type stamp struct {
	info os.FileInfo // of the target of links; nil if the file could not be read
	read time.Time   // when it was read
}

// clockGrain is the resolution of file times. If a file was read so soon after a change, its time may miss a later
// change.
const clockGrain = 2 * time.Second

// unchanged reports whether a file with info certainly has the same contents.
func (s stamp) unchanged(info os.FileInfo) bool {
	return s.info != nil && os.SameFile(s.info, info) && s.info.Size() == info.Size() && s.info.ModTime().Equal(info.ModTime()) &&
		s.read.Sub(info.ModTime()) > clockGrain
}

// isManifest reports whether kubectl apply -f DIRECTORY reads a file of that name. Unlike kubectl, it ignores hidden
// files, which editors and kubelets create.
func isManifest(name string) bool {
	if strings.HasPrefix(name, ".") {
		return false
	}
	switch filepath.Ext(name) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// errReplaced is the error of an empty directory in the place of another one: where a volume was unmounted.
var errReplaced = errors.New("it was replaced by another directory, which has no manifests")

// list lists the files of a directory. If that fails, the last list stays.
func (l *Loader) list(ctx context.Context, d *folder) {
	info, names, err := d.read()
	if err == nil && len(names) == 0 && len(d.names) > 0 && !os.SameFile(info, d.seen) {
		err = errReplaced
	}
	if err != nil {
		if text := err.Error(); text != d.problem {
			d.problem = text
			l.log.ErrorContext(ctx, "a directory of CRDs cannot be read; what was registered from it stays", "directory", d.path, "error", err)
		}
		return
	}
	if d.problem != "" {
		d.problem = ""
		l.log.InfoContext(ctx, "a directory of CRDs can be read again", "directory", d.path)
	}
	d.seen, d.names = info, names
}

func (d *folder) read() (info os.FileInfo, names []string, err error) {
	if info, err = os.Stat(d.path); err != nil {
		return nil, nil, err
	}
	entries, err := os.ReadDir(d.path) // sorted
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		if isManifest(e.Name()) && !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return info, names, nil
}

// scan reads all files that changed.
func (l *Loader) scan(ctx context.Context) {
	found := make(map[string]*source, len(l.sources))
	l.unsettled = false
	l.order = l.order[:0]
	for _, d := range l.directories {
		l.list(ctx, d)
		for _, name := range d.names {
			path := filepath.Join(d.path, name)
			s := l.sources[path]
			if s == nil {
				s = &source{path: path}
			}
			if d.problem == "" && !l.look(ctx, s) {
				continue
			}
			found[path] = s
			l.order = append(l.order, path)
			if ctx.Err() != nil {
				return // the list is incomplete: other files would seem to be missing
			}
		}
	}
	for path, s := range l.sources {
		if found[path] == nil {
			l.forget(s)
			l.log.DebugContext(ctx, "a file of CRDs was removed", "file", path)
		}
	}
	l.sources = found
	if !l.unsettled {
		clear(l.touched)
	}
}

// look reads a file if it may have changed. It reports whether it is a file.
func (l *Loader) look(ctx context.Context, s *source) bool {
	info, err := os.Stat(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !exists(s.path):
		return false // it was removed after the listing
	case err != nil:
		l.unreadable(ctx, s, err)
		return true
	case info.IsDir():
		return false
	case !info.Mode().IsRegular():
		l.unreadable(ctx, s, errors.New("it is neither a regular file nor a link to one"))
		return true
	case !l.touched[s.path] && s.stamp.unchanged(info):
		return true
	case l.beingWritten(s, info):
		return true
	}
	delete(l.touched, s.path)
	s.waited = time.Time{}
	l.read(ctx, s, info)
	return true
}

// beingWritten reports whether a file changed so recently that it may be incomplete. It gives up after a while.
func (l *Loader) beingWritten(s *source, info os.FileInfo) bool {
	now := l.now()
	if age := now.Sub(info.ModTime()); age < 0 || age >= l.o.Settle {
		return false
	}
	if s.waited.IsZero() {
		s.waited = now
	}
	if now.Sub(s.waited) >= patience*l.o.Settle {
		return false
	}
	l.unsettled = true
	return true
}

// exists reports whether a path exists, even as a broken link.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
