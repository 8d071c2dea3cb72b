//go:build unix

package testenv

import (
	"syscall"
	"testing"
	"time"
)

// CPUTime returns the CPU time that this process has used. Tests bound it instead of elapsed time, which depends
// on other processes.
func CPUTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Pipe makes a named pipe. It skips the test on systems without them.
func Pipe(t testing.TB, path string) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
}
