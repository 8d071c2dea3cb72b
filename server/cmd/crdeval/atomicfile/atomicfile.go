// Package atomicfile replaces files atomically.
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Write writes a file so that other processes, and a start after a crash, see the old or the new content.
func Write(path string, content []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".crdeval-*")
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		return fmt.Errorf("%s: %w", path, e.Err)
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
