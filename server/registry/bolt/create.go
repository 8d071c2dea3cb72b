package bolt

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// create makes the file of a new store, whole or not at all: it is made under another name and linked to its own when all of it is on disk. A process that is
// killed meanwhile leaves nothing that the next one takes for a damaged registry. A file that exists stays as it is.
func create(path string) error {
	leftovers, err := filepath.Glob(path + ".new-*")
	if err != nil {
		return err
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return removeAll(leftovers)
	}
	f, err := os.CreateTemp(filepath.Dir(path), FileName+".new-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	if err := f.Close(); err != nil {
		return err
	}
	s, err := openStore(f.Name())
	if err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	// Unlike a rename, a link never replaces what another process made in the same moment. Where there are no links, bbolt makes the file in its place.
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) && !noLinks(err) {
		return err
	}
	return removeAll(leftovers)
}

func noLinks(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.EMLINK)
}

// removeAll removes what processes that were killed while they created the file left behind. If one is only slow, it finds its file gone and the other's made.
func removeAll(paths []string) error {
	for _, path := range paths {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// syncDirectory makes a new file's name durable, as fsync of the file makes its contents.
func syncDirectory(dir string) error {
	d, err := os.Open(dir)
	if errors.Is(err, os.ErrPermission) {
		return nil // a parent that others made, and keep
	}
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		err = nil // a file system that has no such thing
	}
	return errors.Join(err, d.Close())
}
