package delay

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
)

// TestFirstCollection tests that a process without GOGC reaches Floor before its first collection.
func TestFirstCollection(t *testing.T) {
	if os.Getenv("ALLOCATE") == "" {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFirstCollection$")
		child.Env = append(os.Environ(), "ALLOCATE=1", "GOGC=")
		if out, err := child.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	var s runtime.MemStats
	for range Floor / 2 >> 10 {
		sink = make([]byte, 1<<10)
	}
	if runtime.ReadMemStats(&s); s.NumGC != 0 {
		t.Errorf("%d collections after %d bytes", s.NumGC, s.TotalAlloc)
	}
}

var sink []byte
