// Package testenv reads the environment variables that select how much tests do.
package testenv

import (
	"os"
	"strconv"
	"testing"
)

// Volume returns n times CRDEVAL_VOLUME, a positive integer, by default 1. Tests use it for their number of cases.
func Volume(n int) int {
	text := os.Getenv("CRDEVAL_VOLUME")
	if text == "" {
		return n
	}
	factor, err := strconv.Atoi(text)
	if err != nil || factor < 1 {
		panic("CRDEVAL_VOLUME is not a positive integer: " + text)
	}
	return factor * n
}

// E2E skips a test unless CRDEVAL_E2E is 1. It is for tests that kill processes, lose power or start several servers.
func E2E(t testing.TB) {
	t.Helper()
	if os.Getenv("CRDEVAL_E2E") != "1" {
		t.Skip("make e2e runs this test: set CRDEVAL_E2E=1")
	}
}

// SingleGoroutine skips a long test of one goroutine in short runs, which are those of make race.
func SingleGoroutine(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("it tests one goroutine at length: make test runs it")
	}
}

// fullVolume is the value of CRDEVAL_VOLUME from which tests of long lists cover all elements.
const fullVolume = 16

// Sampled reports whether tests of long lists cover element i: one of 16 by default, all with CRDEVAL_VOLUME=16.
func Sampled(i int) bool { return i%stride() == 0 }

// Portion returns how many of n elements Sampled selects.
func Portion(n int) int { return n / stride() }

func stride() int { return max(1, fullVolume/Volume(1)) }
