package input

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/testenv"
	"github.com/crdeval/crdeval/engine/workspace"
)

// Reading from a pipe without a writer ends when the command is interrupted.
func TestInterruptedWhileReading(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	testenv.Pipe(t, pipe)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Reader{}.ReadFile(ctx, pipe)
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

// Reading an endless stream ends when the command is interrupted.
func TestEndless(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	endless := readerFunc(func(p []byte) (int, error) {
		if n++; n == 3 {
			cancel()
		}
		return len(p), nil
	})
	if _, err := (Reader{Stdin: endless}).ReadFile(ctx, "-"); err == nil || err.Error() != "interrupted" {
		t.Error(err)
	}
}

// TestTooLarge checks that a large file is rejected by its size, and that reading a device ends.
func TestTooLarge(t *testing.T) {
	file := filepath.Join(t.TempDir(), "large.yaml")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, 512<<20+1); err != nil { // sparse
		t.Fatal(err)
	}
	const want = "it is larger than 512 MiB: split it"
	if _, err := (Reader{}).ReadFile(t.Context(), file); err == nil || err.Error() != want {
		t.Error(err)
	}
	for f := range (Reader{}).Files(t.Context(), file) {
		if f.Err == nil || f.Err.Error() != want {
			t.Error(f.Err)
		}
	}
	if _, err := os.Stat("/dev/zero"); err != nil {
		t.Skip(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	read := make(chan error, 1)
	go func() {
		_, err := Reader{}.ReadFile(ctx, "/dev/zero")
		read <- err
	}()
	cancel()
	if err := <-read; err == nil || err.Error() != "interrupted" && err.Error() != want {
		t.Error(err)
	}
}

// TestInterruptedParser checks that a run does not wait for a file that takes long to parse.
func TestInterruptedParser(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	parse := make(chan struct{})
	defer close(parse)
	s := workspace.Source{Name: "a", Read: func(context.Context) ([]byte, error) {
		cancel()
		<-parse
		return nil, nil
	}}
	if f := (Reader{}).load(ctx, s); f.Err == nil || f.Err.Error() != "interrupted" {
		t.Error(f.Err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestFolders checks the files of folders: links to files, dangling links, and pipes, which are left out.
func TestFolders(t *testing.T) {
	dir := t.TempDir()
	write := func(name string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("a: b"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	testenv.Pipe(t, filepath.Join(dir, "pipe.yaml"))
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	write("a.yaml")
	write("sub/b.yaml")
	for link, to := range map[string]string{
		"dangling.yaml": "missing.yaml", "file.yaml": "a.yaml", "folder.yaml": "sub",
		"pipe-link.yaml": "pipe.yaml", "linked": "sub",
	} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		name      string
		recursive bool
		want      string // base names, with the error of those that cannot be read
	}{
		{dir, false, "a.yaml, dangling.yaml: no such file or directory: the symbolic link leads nowhere, file.yaml"},
		{dir, true, "a.yaml, dangling.yaml: no such file or directory: the symbolic link leads nowhere, file.yaml, b.yaml"},
		{filepath.Join(dir, "linked"), false, "b.yaml"},
		{filepath.Join(dir, "no"), false, "no: no such file or directory"},
		{filepath.Join(dir, "dangling.yaml"), false, "dangling.yaml: no such file or directory"},
		{"https://example.com/crd.yaml", false,
			"crd.yaml: only CRDs can be read from a URL or a cluster: save the objects in a file"},
	} {
		var got []string
		for f := range (Reader{Recursive: tc.recursive}).Files(t.Context(), tc.name) {
			text := filepath.Base(f.Name)
			if f.Err != nil {
				text += ": " + f.Err.Error()
			} else if len(f.Manifests) != 1 {
				text += ": no manifest"
			}
			got = append(got, text)
		}
		if text := strings.Join(got, ", "); text != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, text, tc.want)
		}
	}
}
