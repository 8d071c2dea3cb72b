package app

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestContainerLimit(t *testing.T) {
	dir := t.TempDir()
	path := func(name, content string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	missing := filepath.Join(dir, "missing")
	for _, tc := range []struct {
		files []string
		want  int64
	}{
		{[]string{missing, missing}, 0},
		{[]string{path("v2", "536870912\n"), missing}, 512 << 20},
		{[]string{path("max", "max\n"), path("v1", "1")}, 0},
		{[]string{missing, path("v1", "1073741824")}, 1 << 30},
		{[]string{missing, path("none", "9223372036854771712")}, 0},
	} {
		if got := containerLimit(tc.files); got != tc.want {
			t.Errorf("%v: %d, want %d", tc.files, got, tc.want)
		}
	}
}

// TestPressureEnds: freed memory is noticed without further allocations.
func TestPressureEnds(t *testing.T) {
	ballast := make([]byte, 256<<20) // never written, so it uses no physical memory
	runtime.GC()
	short := pressure(280 << 20)
	if !short() {
		t.Fatal("there is memory")
	}
	runtime.KeepAlive(ballast)
	eventually(t, func() error {
		if short() {
			return errors.New("memory is still short")
		}
		return nil
	})
}

func TestPressure(t *testing.T) {
	if pressure(0) != nil {
		t.Error("pressure without a limit")
	}
	if short := pressure(1); !short() {
		t.Error("a limit of one byte is not exceeded")
	}
	if short := pressure(1 << 50); short() {
		t.Error("a limit of a pebibyte is exceeded")
	}
}

func TestCollectorPace(t *testing.T) {
	const mib = 1 << 20
	for _, tc := range []struct {
		live, floor int64
		want        int
	}{
		{0, 128 * mib, gcMost}, {mib, 128 * mib, gcMost}, {16 * mib, 128 * mib, 700}, {64 * mib, 128 * mib, 100}, {128 * mib, 128 * mib, 100}, {192 * mib, 128 * mib, 100}, {256 * mib, 128 * mib, 75}, {1024 * mib, 128 * mib, 50},
	} {
		if got := gcPercent(tc.live, tc.floor); got != tc.want {
			t.Errorf("%d MiB alive, floor %d MiB: GOGC %d, want %d", tc.live/mib, tc.floor/mib, got, tc.want)
		}
	}
}
