package bolt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"runtime/debug"
	"slices"
	"syscall"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/crdeval/crdeval/server/registry"
)

var (
	// ErrLocked is the error of Open while another process uses the file.
	ErrLocked = errors.New("the registry's file is in use by another process")
	// ErrCorrupt is the error of a file that is damaged or not a registry.
	ErrCorrupt = errors.New("the registry's file is damaged")
)

// A stored value has a header: the version (8 bytes, big endian) and the CRC-32C of key, version and value (4 bytes).
const headerSize = 8 + 4

func checksum(key, version, value []byte) uint32 {
	castagnoli := crc32.MakeTable(crc32.Castagnoli) // makes it once, but not at the start of each command
	sum := crc32.Update(0, castagnoli, key)
	sum = crc32.Update(sum, castagnoli, version)
	return crc32.Update(sum, castagnoli, value)
}

func encode(key string, value []byte, version uint64) []byte {
	b := make([]byte, headerSize, headerSize+len(value))
	binary.BigEndian.PutUint64(b, version)
	binary.BigEndian.PutUint32(b[8:], checksum([]byte(key), b[:8], value))
	return append(b, value...)
}

// decode copies the value, because bbolt's memory is only valid during the transaction.
func decode(key, stored []byte) (registry.Entry, error) {
	if len(stored) < headerSize {
		return registry.Entry{}, fmt.Errorf("entry %q has %d bytes, fewer than its header", key, len(stored))
	}
	value := stored[headerSize:]
	if binary.BigEndian.Uint32(stored[8:]) != checksum(key, stored[:8], value) {
		return registry.Entry{}, fmt.Errorf("entry %q does not match its checksum", key)
	}
	return registry.Entry{Key: string(key), Value: slices.Clone(value), Version: version(stored)}, nil
}

// version returns 0 for a missing entry.
func version(stored []byte) uint64 {
	if len(stored) < headerSize {
		return 0
	}
	return binary.BigEndian.Uint64(stored)
}

func (s *Store) corrupt(err error) error { return corrupt(s.path, err) }

func corrupt(path string, err error) error {
	return fmt.Errorf("%w: %s: %w; restore it from a backup, or move it away to start with an empty registry",
		ErrCorrupt, path, err)
}

// openFile opens the file and turns errors and panics of bbolt into errors that say what to do. damaged describes a
// meta page that is not valid.
func openFile(path string) (db *bbolt.DB, damaged string, err error) {
	damaged, err = inspect(path)
	if err != nil {
		return nil, "", openError(path, err)
	}
	err = guard(path, func() error {
		db, err = bbolt.Open(path, 0o600, &bbolt.Options{Timeout: LockTimeout, FreelistType: bbolt.FreelistMapType})
		return err
	})
	if err != nil {
		return nil, "", openError(path, err)
	}
	return db, damaged, nil
}

func openError(path string, err error) error {
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return fmt.Errorf("%w: %s; a data directory is for one process: stop the other one, or choose another --data-dir",
			ErrLocked, path)
	case errors.Is(err, ErrCorrupt):
		return err
	case isSystemError(err):
		return fmt.Errorf("opening the registry's file: %w", err)
	}
	return corrupt(path, err) // the other errors of bbolt are about the contents
}

// isSystemError reports whether an error is about access to the file, not about its contents.
func isSystemError(err error) bool {
	var path *fs.PathError
	var number syscall.Errno
	return errors.As(err, &path) || errors.As(err, &number)
}

// guard calls f. A panic of bbolt over a damaged page, or a fault on a page that the file lacks, becomes ErrCorrupt.
func guard(path string, f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = corrupt(path, fmt.Errorf("%v", p))
		}
	}()
	return f()
}

func (s *Store) read(f func(*bbolt.Tx) error) error {
	err := guard(s.path, func() error { return s.db.View(f) })
	if errors.Is(err, bolterrors.ErrDatabaseNotOpen) {
		return registry.ErrClosed
	}
	return err
}

// checkPages checks that each page is used or free, and not both: a page with two uses would damage later commits. It
// needs two valid meta pages.
func (s *Store) checkPages(tx *bbolt.Tx) (err error) {
	if s.damaged != "" {
		return nil
	}
	for e := range tx.Check() { // it runs until all errors are read
		if err == nil {
			err = s.corrupt(e)
		}
	}
	return err
}

// verify checks the structure and the format of the file.
func (s *Store) verify() error {
	return s.read(func(tx *bbolt.Tx) error {
		if err := s.checkPages(tx); err != nil {
			return err
		}
		meta, entries := tx.Bucket(metaBucket), tx.Bucket(entriesBucket)
		if meta == nil && entries == nil {
			if name, _ := tx.Cursor().First(); name != nil {
				return s.corrupt(fmt.Errorf("it is a bbolt file of another program: it has a bucket %q", name))
			}
			return nil // new
		}
		if meta == nil || entries == nil || len(meta.Get(idKey)) == 0 {
			return s.corrupt(errors.New("it lacks a bucket or its ID"))
		}
		if got := string(meta.Get(formatKey)); got != format {
			return fmt.Errorf("%s has format %q, but this version of crdeval reads format %q: "+
				"run the version that wrote it, or choose another --data-dir", s.path, got, format)
		}
		return nil
	})
}
