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
	seen    os.FileInfo // as it was when files were last found in it, or at the start
	names   []string    // of its files then, sorted
	problem string      // why it cannot be read, as it was told; empty: it can
}

// stamp is what a file looks like from outside.
type stamp struct {
	info os.FileInfo // of the file itself, behind its links; nil: it was not there
	read time.Time   // when it was looked at
}

// clockGrain is how coarse the times of files may be: of one that was read so soon after it was changed, the time says nothing about later changes.
const clockGrain = 2 * time.Second

// unchanged says whether a file that looks like info is sure to have the contents that it had.
func (s stamp) unchanged(info os.FileInfo) bool {
	return s.info != nil && os.SameFile(s.info, info) && s.info.Size() == info.Size() && s.info.ModTime().Equal(info.ModTime()) &&
		s.read.Sub(info.ModTime()) > clockGrain
}

// isManifest says whether kubectl apply -f DIRECTORY would read a file of that name. Hidden files are left out, unlike there: editors and kubelets keep theirs so.
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

// errAnother is why a directory without files is not believed: where a volume was mounted there is an empty directory when it is gone.
var errAnother = errors.New("in its place there is another directory, without manifests")

// list finds the names of a directory's files. While it cannot be read those that were found last stay.
func (l *Loader) list(ctx context.Context, d *folder) {
	info, names, err := d.read()
	if err == nil && len(names) == 0 && len(d.names) > 0 && !os.SameFile(info, d.seen) {
		err = errAnother
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

// scan looks at all files and reads those that changed.
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
				return // half of a picture: the files behind would seem gone
			}
		}
	}
	for path, s := range l.sources {
		if found[path] == nil {
			l.forget(s)
			l.log.DebugContext(ctx, "a file of CRDs went away", "file", path)
		}
	}
	l.sources = found
	if !l.unsettled {
		clear(l.touched)
	}
}

// look reads a file again if it may have changed. It says whether it is a file.
func (l *Loader) look(ctx context.Context, s *source) bool {
	info, err := os.Stat(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !exists(s.path):
		return false // gone since the directory was listed
	case err != nil:
		l.unreadable(ctx, s, err)
		return true
	case info.IsDir():
		return false
	case !info.Mode().IsRegular():
		l.unreadable(ctx, s, errors.New("it is neither a file nor a link to one"))
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

// beingWritten says whether a file was changed so recently that half of it may be missing. It says so for a while only, should it never come to rest.
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

// exists says whether there is something of that name, be it a link to nowhere.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
