package etcdtest

import (
	"path/filepath"
	"testing"
)

// Only one process at a time locks a file.
func TestLockFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "port")
	release, err := lockFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lockFile(path); err == nil {
		t.Error("locked twice")
	}
	release()
	if release, err = lockFile(path); err != nil {
		t.Fatal(err)
	}
	release()
}
