package atomicfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for _, content := range []string{"old content", "new"} {
		if err := Write(path, []byte(content)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != content {
			t.Errorf("%q, %v", got, err)
		}
	}
	missing := filepath.Join(dir, "missing", "file")
	if err := Write(missing, nil); err == nil || !strings.HasPrefix(err.Error(), missing+": ") {
		t.Errorf("the error does not name the file: %v", err)
	}
	if err := Write(dir, nil); err == nil {
		t.Error("no error for a directory")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	if leftovers, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), ".crdeval-*")); leftovers != nil {
		t.Error(leftovers)
	}
}
