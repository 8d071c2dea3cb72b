package logfile

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// content returns the text of a file.
func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, f *File, text string) {
	t.Helper()
	if _, err := f.Write([]byte(text)); err != nil {
		t.Error(err)
	}
}

// TestRotation renames the file, sends SIGHUP, and finds the next line in a new file.
func TestRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	reopened := make(chan error)
	stop := Notify(func() { reopened <- f.Reopen() })
	defer stop()
	write(t, f, "one\n")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	write(t, f, "two\n") // before the signal
	for range 2 {
		if err := self.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		if err := <-reopened; err != nil {
			t.Error(err)
		}
	}
	write(t, f, "three\n")
	if old, text := content(t, path+".1"), content(t, path); old != "one\ntwo\n" || text != "three\n" {
		t.Errorf("%q, %q", old, text)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
		t.Errorf("%v, %v", info, err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// TestFailedReopen: if the path cannot be opened, the lines go to the old file.
func TestFailedReopen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "logs")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := Open(filepath.Join(dir, "a.log"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir, dir+".old"); err != nil {
		t.Fatal(err)
	}
	if err := f.Reopen(); err == nil {
		t.Error("a file in a missing directory is opened")
	}
	write(t, f, "one\n")
	if text := content(t, filepath.Join(dir+".old", "a.log")); text != "one\n" {
		t.Errorf("%q", text)
	}
	if _, err := Open(dir + ".old"); err == nil {
		t.Error("a directory is opened")
	}
}
