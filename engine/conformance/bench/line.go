package bench

import (
	"fmt"
	"math"
)

// timeLine prints a case that is measured in time and allocations.
func timeLine(name string, ours, upstream figure, procs int) string {
	return fmt.Sprintf("%s  ours %s ms %.0f allocs  upstream %s ms %.0f allocs  speedup %s allocs %.0fx  GOMAXPROCS=%d",
		name, milliseconds(ours.seconds), ours.allocs, milliseconds(upstream.seconds), upstream.allocs,
		times(upstream.seconds/ours.seconds), upstream.allocs/math.Max(1, ours.allocs), procs)
}

// heapLine prints a case that is measured in bytes. patterns is the memory that we share in the whole process.
func heapLine(name string, ours, upstream, patterns float64, count, procs int) string {
	return fmt.Sprintf("%s  ours %s KiB upstream %s KiB ratio %s  patterns %d of %s KiB  GOMAXPROCS=%d",
		name, kibibytes(ours), kibibytes(upstream), times(upstream/ours), count, kibibytes(patterns), procs)
}

// rateLine prints a case that is measured in objects per second.
func rateLine(name string, ours, upstream float64, procs int) string {
	return fmt.Sprintf("%s  ours %.0f objects/s  upstream %.0f objects/s  speedup %s  GOMAXPROCS=%d", name, ours, upstream, times(ours/upstream), procs)
}

func times(ratio float64) string { return fmt.Sprintf("%.1fx", ratio) }

// milliseconds prints two decimals, and three significant digits below a tenth.
func milliseconds(seconds float64) string {
	ms, digits := seconds*1e3, 2
	if ms > 0 && ms < 0.1 {
		digits = 2 - int(math.Floor(math.Log10(ms)))
	}
	return fmt.Sprintf("%.*f", digits, ms)
}

func kibibytes(bytes float64) string {
	k := bytes / 1024
	if k < 99.95 {
		return fmt.Sprintf("%.1f", k)
	}
	return fmt.Sprintf("%.0f", k)
}
