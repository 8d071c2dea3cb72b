package bolt_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"
	"go.uber.org/goleak"

	"github.com/crdeval/crdeval/server/registry"
	"github.com/crdeval/crdeval/server/registry/bolt"
	"github.com/crdeval/crdeval/server/registry/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, dir string) *bolt.Store {
	t.Helper()
	s, err := bolt.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Fixture {
		dir := filepath.Join(t.TempDir(), "made", "by", "Open")
		s := open(t, dir)
		return storetest.Fixture{Store: s, Reopen: func() registry.Store {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			return open(t, dir)
		}}
	})
}

func TestLocked(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	defer func() { _ = s.Close() }()
	if _, err := bolt.Open(dir); !errors.Is(err, bolt.ErrLocked) || !strings.Contains(err.Error(), "--data-dir") {
		t.Errorf("got %v", err)
	}
}

func TestPermissions(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := open(t, dir)
	defer func() { _ = s.Close() }()
	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, bolt.FileName): 0o600} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

// Every kind of damage is an error that names the file; none is a crash, none an empty registry.
func TestDamage(t *testing.T) {
	pristine := func(t *testing.T) []byte {
		dir := t.TempDir()
		s := open(t, dir)
		for _, key := range []string{"a", "b", "c"} {
			if _, err := s.Commit(t.Context(), registry.Transaction{Put: []registry.Entry{{Key: key, Value: bytes.Repeat([]byte(key), 20_000)}}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(filepath.Join(dir, bolt.FileName))
		if err != nil {
			t.Fatal(err)
		}
		return content
	}(t)
	for _, tc := range []struct {
		name   string
		damage func([]byte) []byte
	}{
		{"not bbolt", func([]byte) []byte { return []byte(strings.Repeat("this is no database\n", 1000)) }},
		{"one byte", func([]byte) []byte { return []byte{1} }},
		{"cut off", func(b []byte) []byte { return b[:len(b)/2] }},
		{"cut off at the first page", func(b []byte) []byte { return b[:os.Getpagesize()] }},
		{"cut off at the meta pages", func(b []byte) []byte { return b[:2*os.Getpagesize()] }},
		{"both meta pages zeroed", func(b []byte) []byte { clear(b[:2*os.Getpagesize()]); return b }},
		{"a flipped bit in a value", func(b []byte) []byte { b[bytes.LastIndex(b, []byte("bbbb"))] ^= 1; return b }},
		{"everything but the meta pages zeroed", func(b []byte) []byte { clear(b[2*os.Getpagesize():]); return b }},
		{"everything but the meta pages ones", func(b []byte) []byte {
			for i := range b[2*os.Getpagesize():] {
				b[2*os.Getpagesize()+i] = 0xff
			}
			return b
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, bolt.FileName)
			if err := os.WriteFile(path, tc.damage(bytes.Clone(pristine)), 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := bolt.Open(dir)
			if err == nil {
				state, err := s.Load(context.Background())
				t.Fatalf("opened with %d entries, %v", len(state.Entries), errors.Join(err, s.Close()))
			}
			if !errors.Is(err, bolt.ErrCorrupt) || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestForeignFiles(t *testing.T) {
	for _, tc := range []struct {
		name, bucket, key, value, want string
	}{
		{"another program's", "theirs", "k", "v", `bucket "theirs"`},
		{"a later format", "meta", "format", "2", `format "2"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			if tc.bucket == "meta" {
				if err := open(t, dir).Close(); err != nil {
					t.Fatal(err)
				}
			}
			db, err := bbolt.Open(filepath.Join(dir, bolt.FileName), 0o600, nil)
			if err != nil {
				t.Fatal(err)
			}
			err = db.Update(func(tx *bbolt.Tx) error {
				b, err := tx.CreateBucketIfNotExists([]byte(tc.bucket))
				if err != nil {
					return err
				}
				return b.Put([]byte(tc.key), []byte(tc.value))
			})
			if err := errors.Join(err, db.Close()); err != nil {
				t.Fatal(err)
			}
			if _, err := bolt.Open(dir); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A file that cannot be had is not called damaged.
func TestUnavailable(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, bolt.FileName), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := bolt.Open(dir); err == nil || errors.Is(err, bolt.ErrCorrupt) || !strings.Contains(err.Error(), "directory") {
		t.Errorf("got %v", err)
	}
	if _, err := bolt.Open(filepath.Join(dir, bolt.FileName, "x\x00")); err == nil || errors.Is(err, bolt.ErrCorrupt) {
		t.Errorf("got %v", err)
	}
}

// An empty file is what a crash between creating and writing leaves: it is a new store.
func TestEmptyFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, bolt.FileName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	defer func() { _ = s.Close() }()
	if s.ID() == "" {
		t.Error("no ID")
	}
}
