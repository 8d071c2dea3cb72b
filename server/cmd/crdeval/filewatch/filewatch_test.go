package filewatch

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestLinks: a change of a link on the path of a file ends the wait, as does a change of the file that it leads to.
func TestLinks(t *testing.T) {
	patience, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	do(err)
	dir := filepath.Join(root, "mounted")
	for _, name := range []string{"..1", "..2"} { // as Kubernetes mounts a ConfigMap
		do(os.MkdirAll(filepath.Join(dir, name), 0o700))
		do(os.WriteFile(filepath.Join(dir, name, "a"), []byte(name), 0o600))
	}
	do(os.Symlink("..1", filepath.Join(dir, "..data")))
	do(os.Symlink(filepath.Join("..data", "a"), filepath.Join(dir, "a")))
	for what, change := range map[string]func() error{
		"the target": func() error { return os.WriteFile(filepath.Join(dir, "..1", "a"), []byte("new"), 0o600) },
		"a link on the path": func() error {
			next := filepath.Join(dir, "..next")
			if err := os.Symlink("..2", next); err != nil {
				return err
			}
			return os.Rename(next, filepath.Join(dir, "..data"))
		},
	} {
		f, err := New()
		do(err)
		f.Add(filepath.Join(dir, "a"))
		do(f.Failure())
		do(change())
		if err := f.Wait(patience); err != nil || patience.Err() != nil {
			t.Errorf("%s: %v, %v", what, err, patience.Err())
		}
		f.Close()
		do(os.Remove(filepath.Join(dir, "..data")))
		do(os.Symlink("..1", filepath.Join(dir, "..data")))
	}
}

func TestFollow(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"a": "b", "b": ".", "loop": "loop"} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{"a/a/x": "x", "x": "x", ".": "."} {
		if _, got := follow(filepath.Join(root, path)); got != filepath.Join(root, want) {
			t.Errorf("%s: %s", path, got)
		}
	}
	if links, _ := follow(filepath.Join(root, "loop")); len(links) != maxLinks {
		t.Errorf("%d links", len(links))
	}
}
