package etcdtest

import (
	"path/filepath"
	"testing"
)

// A port is one test's, whichever process asks, until that test ends.
func TestTake(t *testing.T) {
	path := filepath.Join(t.TempDir(), "port")
	release, err := take(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := take(path); err == nil {
		t.Error("taken twice")
	}
	release()
	if release, err = take(path); err != nil {
		t.Fatal(err)
	}
	release()
}
