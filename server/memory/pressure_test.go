package memory

import (
	"runtime"
	"testing"
	"time"
)

// TestPressureEnds: freed memory is noticed without further allocations.
func TestPressureEnds(t *testing.T) {
	ballast := make([]byte, 256<<20) // never written, so it uses no physical memory
	runtime.GC()
	p := NewPressure(280 << 20)
	if !p.Short() {
		t.Fatal("there is memory")
	}
	runtime.KeepAlive(ballast)
	for p.Short() { // the time limit of the test ends a wait for a Pressure that never notices it
		time.Sleep(time.Millisecond)
	}
}

// TestPressure checks limits that are never or always exceeded.
func TestPressure(t *testing.T) {
	for limit, want := range map[int64]bool{0: false, 1: true, 1 << 50: false} {
		if got := NewPressure(limit).Short(); got != want {
			t.Errorf("a limit of %d bytes: %v, want %v", limit, got, want)
		}
	}
}
