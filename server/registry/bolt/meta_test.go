package bolt_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/server/registry"
	"github.com/crdeval/crdeval/server/registry/bolt"
)

// filled returns a closed store with n commits of 4 KiB each, and its file.
func filled(t *testing.T, n int) (dir string, file []byte) {
	t.Helper()
	dir = t.TempDir()
	s := open(t, dir)
	for i := range n {
		put := registry.Entry{Key: fmt.Sprint("catalog/c", i), Value: []byte(strings.Repeat("x", 4<<10))}
		if _, err := s.Commit(t.Context(), registry.Transaction{Put: []registry.Entry{put}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join(dir, bolt.FileName))
	if err != nil {
		t.Fatal(err)
	}
	return dir, file
}

// TestLostMetaPage zeroes one of the two meta pages. bbolt opens such a file without an error, and may lack a commit.
func TestLostMetaPage(t *testing.T) {
	const commits = 5
	lost := 0
	for number := range 2 {
		dir, file := filled(t, commits)
		page := os.Getpagesize()
		clear(file[number*page : (number+1)*page])
		path := filepath.Join(dir, bolt.FileName)
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		s := open(t, dir)
		if d := s.Damaged(); !strings.Contains(d, fmt.Sprintf("meta page %d of %s", number+1, path)) || !strings.Contains(d, "transaction") {
			t.Errorf("page %d: reported %q", number+1, d)
		}
		state, err := s.Load(t.Context())
		if err != nil || len(state.Entries) < commits-1 {
			t.Errorf("page %d: %d of %d entries, %v", number+1, len(state.Entries), commits, err)
		}
		lost += commits - len(state.Entries)
		if _, err := s.Commit(t.Context(), registry.Transaction{Delete: []string{"catalog/x"}}); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		again := open(t, dir)
		if d := again.Damaged(); d != "" {
			t.Errorf("page %d: not repaired: %s", number+1, d)
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if lost != 1 {
		t.Errorf("%d commits lost, want that of the newest page", lost)
	}
}

func TestTruncated(t *testing.T) {
	dir, file := filled(t, 50)
	path := filepath.Join(dir, bolt.FileName)
	page := os.Getpagesize()
	for _, size := range []int{1, 79, page - 1, page, page + 79, 2*page - 1, 2 * page, 3 * page, 20*page + 7} {
		if err := os.WriteFile(path, file[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := bolt.Open(dir)
		if !errors.Is(err, bolt.ErrCorrupt) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "restore it from a backup") ||
			strings.Contains(err.Error(), "nil pointer") || strings.Contains(err.Error(), "runtime error") {
			t.Errorf("%d bytes: %v", size, err)
		}
		if want := fmt.Sprintf("truncated to %d of ", size); size >= 80 && !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%d bytes: %v, want %q", size, err, want)
		}
	}
}
