package workspace

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"strings"
)

// WalkOptions configure Walk.
type WalkOptions struct {
	// Recursive includes subfolders, except hidden ones and links to folders.
	Recursive bool
	// Skips, if not nil, reports whether to skip subfolders with a name.
	Skips func(name string) bool
	// Name returns the name of a path in messages. If Name is nil, it is the path itself.
	Name func(path string) string
	// Limit bounds the size of a file. 0 means 512 MiB.
	Limit int64
	// Enter, if not nil, is called with each folder before its files. It returns false to end the walk.
	Enter func(folder string) bool
}

var errDangling = errors.New("no such file or directory: the symbolic link leads nowhere")

// Walk yields the sources of the manifest files in a folder, sorted by path. A file or folder that cannot be read is a
// source whose Read returns the error. Walk skips pipes, devices and sockets.
func Walk(fsys fs.FS, root string, o WalkOptions) iter.Seq[Source] {
	if o.Name == nil {
		o.Name = func(path string) string { return path }
	}
	return func(yield func(Source) bool) {
		unreadable := func(file string, err error) error {
			s := Source{Name: o.Name(file), Path: file, Read: func(context.Context) ([]byte, error) { return nil, unnamed(err) }}
			if !yield(s) {
				return fs.SkipAll
			}
			return nil
		}
		_ = fs.WalkDir(fsys, root, func(file string, e fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return unreadable(file, err)
			case e.IsDir() && file != root && (!o.Recursive || strings.HasPrefix(e.Name(), ".") || o.Skips != nil && o.Skips(e.Name())):
				return fs.SkipDir
			case e.IsDir():
				if o.Enter != nil && !o.Enter(file) {
					return fs.SkipAll
				}
				return nil
			case !IsFileName(e.Name()):
				return nil
			}
			if e.Type()&fs.ModeSymlink != 0 {
				switch info, err := fs.Stat(fsys, file); {
				case errors.Is(err, fs.ErrNotExist):
					return unreadable(file, errDangling)
				case err != nil:
					return unreadable(file, err)
				case !info.Mode().IsRegular():
					return nil
				}
			} else if !e.Type().IsRegular() {
				return nil
			}
			if !yield(FileSource(fsys, o.Name(file), file, o.Limit)) {
				return fs.SkipAll
			}
			return nil
		})
	}
}
