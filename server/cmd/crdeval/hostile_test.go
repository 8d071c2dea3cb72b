package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/testenv"
)

// Reading from a pipe without a writer ends when the command is interrupted.
func TestInterruptedWhileReading(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	testenv.Pipe(t, pipe)
	interrupted := make(chan struct{})
	close(interrupted)
	_, err := readFile(pipe, environment{interrupted: interrupted})
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
	if files, err := (reader{}).files(dir); err == nil || len(files) > 0 {
		t.Errorf("%v, %v", files, err)
	}
}

// Control characters of manifests do not reach the terminal.
func TestControlCharacters(t *testing.T) {
	t.Chdir("testdata")
	object := "apiVersion: example.com/v1\nkind: Kite\nmetadata: {name: \"a\\e[31mred\\u009b1m\", namespace: default}\nspec: {size: 99}\n"
	code, stdout, stderr := invoke(t, object, "admit", "--crds", "admit-crd.yaml", "-")
	if code != exitRejected || !strings.Contains(stdout, `a\x1b[31mred\x9b1m`) || strings.ContainsAny(stdout+stderr, "\x1b\u009b") {
		t.Errorf("%d %q %q", code, stdout, stderr)
	}
}

// A long list is parsed only once.
func TestLongListOnOneLine(t *testing.T) {
	t.Chdir("testdata")
	var b strings.Builder
	b.WriteString(`{"apiVersion":"v1","kind":"List","items":[`)
	for i := range 5_000 {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`{"apiVersion":"example.com/v1","kind":"Kite","metadata":{"name":"a"},"spec":{"size":3}}`)
	}
	b.WriteString("]}")
	code, stdout, stderr := invoke(t, b.String(), "admit", "-q", "--crds", "admit-crd.yaml", "-")
	if code != 0 || stdout != "5000 objects: 5000 allowed, 0 rejected\n" {
		t.Errorf("%d %s %s", code, stdout, stderr)
	}
}
