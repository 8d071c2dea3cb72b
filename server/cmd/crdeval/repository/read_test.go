package repository

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/testenv"
)

// TestReadRegular checks that pipes and devices are not opened, and the limit.
func TestReadRegular(t *testing.T) {
	dir := t.TempDir()
	pipe, link, file := filepath.Join(dir, "pipe"), filepath.Join(dir, "link"), filepath.Join(dir, "file")
	testenv.Pipe(t, pipe)
	if err := os.Symlink(pipe, link); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name  string
		limit int64
		want  string // part of the error, "" for none
	}{
		{file, 3, ""}, {file, 2, "has more than"}, {pipe, 3, "not a regular file"}, {link, 3, "not a regular file"},
		{os.DevNull, 3, "not a regular file"}, {dir, 3, "not a regular file"}, {filepath.Join(dir, "no"), 3, "no such file"},
	} {
		text, err := ReadRegular(tc.name, tc.limit)
		if tc.want == "" && (err != nil || string(text) != "abc") ||
			tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), tc.name)) {
			t.Errorf("%s: %q, %v", tc.name, text, err)
		}
	}
}
