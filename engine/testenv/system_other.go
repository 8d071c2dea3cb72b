//go:build !unix

package testenv

import (
	"testing"
	"time"
)

var start = time.Now()

// CPUTime returns the elapsed time, which is at least the CPU time of one goroutine.
func CPUTime() time.Duration { return time.Since(start) }

// Pipe skips the test, because this system has no named pipes.
func Pipe(t testing.TB, path string) {
	t.Helper()
	t.Skipf("no named pipes for %s", path)
}
