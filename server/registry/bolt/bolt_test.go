package bolt_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"
	"go.uber.org/goleak"

	"github.com/crdeval/crdeval/server/registry/bolt"
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

func TestForeignFiles(t *testing.T) {
	for _, tc := range []struct {
		name, bucket, key, value, want string
	}{
		{"another program's", "theirs", "k", "v", `bucket "theirs"`},
		{"a later format", "meta", "format", "3", `format "3"`},
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
