// Package bolt implements registry.Store in a bbolt file, for one process.
//
// A commit is a bbolt transaction and returns after fsync. Every value has a checksum, because bbolt has checksums for
// its two meta pages only.
package bolt

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/crdeval/crdeval/server/registry"
)

// FileName is the name of the file in the data directory.
const FileName = "registry.db"

// LockTimeout is how long Open waits for another process to release the file, for example one that is shutting down.
const LockTimeout = 2 * time.Second

// format is the version of the file layout. Files of another format are rejected.
const format = "2"

var (
	metaBucket    = []byte("meta")
	entriesBucket = []byte("entries")
	formatKey     = []byte("format")
	idKey         = []byte("id")
)

// Store keeps entries in a bbolt file.
type Store struct {
	db   *bbolt.DB
	path string
	id   string
	turn chan struct{} // holds an element while a function of do runs

	damaged string
}

var _ registry.Store = (*Store)(nil)

// Open opens the store in dir and creates both if necessary. The error is ErrLocked if another process uses the file,
// and ErrCorrupt if the file is damaged. Load verifies the entries.
func Open(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("creating the data directory: %w", err)
	}
	path := filepath.Join(dir, FileName)
	if err := create(path); err != nil {
		return nil, err
	}
	s, err := openStore(path)
	if err != nil {
		return nil, err
	}
	// The directory entries of the file and of dir may be new, too.
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := syncDirectory(d); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// openStore opens a file, which may be empty.
func openStore(path string) (*Store, error) {
	db, damaged, err := openFile(path)
	if err != nil {
		return nil, err
	}
	s := &Store{db: db, path: path, turn: make(chan struct{}, 1), damaged: damaged}
	if err := s.prepare(); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

// prepare verifies the file, or initializes an empty one.
func (s *Store) prepare() error {
	if err := s.verify(); err != nil {
		return err
	}
	return s.db.Update(func(tx *bbolt.Tx) error {
		meta, err := tx.CreateBucketIfNotExists(metaBucket)
		if err != nil {
			return err
		}
		if _, err := tx.CreateBucketIfNotExists(entriesBucket); err != nil {
			return err
		}
		if meta.Get(idKey) == nil {
			if err := meta.Put(formatKey, []byte(format)); err != nil {
				return err
			}
			if err := meta.Put(idKey, []byte(rand.Text())); err != nil {
				return err
			}
		}
		s.id = string(meta.Get(idKey))
		return nil
	})
}

// Damaged describes a meta page of bbolt that was not valid when the store was opened, else it is empty. The last commit
// before that can be missing (meta.go). The next commit repairs the page.
func (s *Store) Damaged() string { return s.damaged }

// ID implements registry.Store.
func (s *Store) ID() string { return s.id }

// do calls f and waits until it returns or ctx ends. It calls one function at a time: one that outlives its context
// delays the next one, so that a Load after a Commit with an unknown outcome returns that outcome.
func (s *Store) do(ctx context.Context, f func() error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return &registry.Failure{
			Public: "its disk has not finished an earlier access", Unchanged: true,
			Err: fmt.Errorf("%s: an earlier access has not finished: %w", s.path, context.Cause(ctx)),
		}
	}
	done := make(chan error, 1)
	go func() {
		err := guard(s.path, f)
		<-s.turn
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return &registry.Failure{
			Public: "its disk did not answer in time", Err: fmt.Errorf("%s: the disk did not answer: %w", s.path, context.Cause(ctx)),
		}
	}
}

// Load implements registry.Store.
func (s *Store) Load(ctx context.Context) (registry.State, error) {
	var state registry.State
	err := s.do(ctx, func() error {
		return s.read(func(tx *bbolt.Tx) error {
			entries := tx.Bucket(entriesBucket)
			state = registry.State{Sequence: entries.Sequence()}
			return entries.ForEach(func(k, v []byte) error {
				e, err := decode(k, v)
				if err != nil {
					return s.corrupt(err)
				}
				state.Entries = append(state.Entries, e)
				return ctx.Err()
			})
		})
	})
	if err != nil {
		return registry.State{}, err
	}
	return state, nil
}

// Commit implements registry.Store. It returns after fsync. If ctx ends before that, the commit may still happen.
func (s *Store) Commit(ctx context.Context, t registry.Transaction) (uint64, error) {
	var sequence uint64
	err := s.do(ctx, func() error {
		return s.db.Update(func(tx *bbolt.Tx) (err error) {
			sequence, err = change(tx.Bucket(entriesBucket), t)
			return err
		})
	})
	var failure *registry.Failure
	switch {
	case err == nil:
		return sequence, nil
	case errors.Is(err, registry.ErrConflict):
		return 0, registry.ErrConflict
	case errors.Is(err, bolterrors.ErrDatabaseNotOpen):
		return 0, registry.ErrClosed
	case errors.As(err, &failure), ctx.Err() != nil:
		return 0, err
	}
	return 0, fmt.Errorf("writing %s: %w", s.path, err)
}

// change makes the changes of a transaction and returns its sequence.
func change(entries *bbolt.Bucket, t registry.Transaction) (sequence uint64, err error) {
	for _, e := range t.Expect {
		if version(entries.Get([]byte(e.Key))) != e.Version {
			return 0, registry.ErrConflict
		}
	}
	if sequence, err = entries.NextSequence(); err != nil {
		return 0, err
	}
	for _, e := range t.Put {
		if err := entries.Put([]byte(e.Key), encode(e.Key, e.Value, sequence)); err != nil {
			return 0, fmt.Errorf("putting %q: %w", e.Key, err)
		}
	}
	for _, key := range t.Delete {
		if err := entries.Delete([]byte(key)); err != nil {
			return 0, fmt.Errorf("deleting %q: %w", key, err)
		}
	}
	for _, prefix := range t.DeletePrefix {
		if err := deletePrefix(entries, []byte(prefix)); err != nil {
			return 0, fmt.Errorf("deleting the keys with prefix %q: %w", prefix, err)
		}
	}
	return sequence, nil
}

// deletePrefix collects the keys first: a bbolt cursor may skip keys after a deletion.
func deletePrefix(b *bbolt.Bucket, prefix []byte) error {
	var keys [][]byte
	c := b.Cursor()
	for k, _ := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, _ = c.Next() {
		keys = append(keys, bytes.Clone(k))
	}
	for _, k := range keys {
		if err := b.Delete(k); err != nil {
			return err
		}
	}
	return nil
}

// Close implements registry.Store. It waits for running transactions, without a limit while the disk does not answer:
// only the end of the process releases the file then. Callers that must end bound the wait, as server/app does.
func (s *Store) Close() error { return s.db.Close() }
