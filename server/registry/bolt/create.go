package bolt

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// create creates the file of a new store atomically: under a temporary name, which is linked to path when all of it is
// on disk. A process that is killed meanwhile leaves no damaged store. create does not change an existing file.
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
	// Unlike a rename, a link never replaces a file that another process created meanwhile. On file systems without
	// links, bbolt creates the file.
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) && !noLinks(err) {
		return err
	}
	return removeAll(leftovers)
}

func noLinks(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) ||
		errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.EMLINK)
}

// removeAll removes temporary files of processes that were killed.
func removeAll(paths []string) error {
	for _, path := range paths {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// syncDirectory makes the directory entries of new files durable.
func syncDirectory(dir string) error {
	d, err := os.Open(dir)
	if errors.Is(err, os.ErrPermission) {
		return nil // a parent that belongs to another user
	}
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		err = nil // the file system does not support it
	}
	return errors.Join(err, d.Close())
}
