package input

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/crdeval/crdeval/engine/testenv"
)

// Reading from a pipe without a writer ends when the command is interrupted.
func TestInterruptedWhileReading(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	testenv.Pipe(t, pipe)
	interrupted := make(chan struct{})
	close(interrupted)
	_, err := Reader{Interrupted: interrupted}.ReadFile(pipe)
	if err == nil || err.Error() != "interrupted" {
		t.Error(err)
	}
	// Let the reader end, so that no goroutine is left.
	w, err := os.OpenFile(pipe, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
}

// Pipes in a directory are not manifests.
func TestDirectoriesWithPipes(t *testing.T) {
	dir := t.TempDir()
	testenv.Pipe(t, filepath.Join(dir, "pipe.yaml"))
	if err := os.Symlink("pipe.yaml", filepath.Join(dir, "link.yaml")); err != nil {
		t.Fatal(err)
	}
	if files, err := (Reader{}).Files(dir); err == nil || len(files) > 0 {
		t.Errorf("%v, %v", files, err)
	}
}
