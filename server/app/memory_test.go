package app

import (
	"errors"
	"runtime"
	"testing"
)

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
