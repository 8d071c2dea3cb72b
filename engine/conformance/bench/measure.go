package bench

import (
	"runtime"
	"slices"
	"time"
)

// Options of a measurement.
type Options struct {
	// Folder contains the objects: engine/conformance/testdata/bench.
	Folder string
	// Rounds is the number of turns of each side.
	Rounds int
	// Turn is the duration of a turn. A turn has at least one operation.
	Turn time.Duration
	// Copies is the number of copies of a compiled version in heap cases, at least 2.
	Copies int
	// Streamed is the number of objects in the case stream/crontab. 0 means 1,000,000.
	Streamed int
	// Converted is the number of objects in a review of the convert cases. 0 means 10,000.
	Converted int
	// CommandFiles and CommandList are the numbers of objects in cli/files and cli/list. 0 means 2,000 and 20,000.
	CommandFiles, CommandList int
	// Peers are the names of the other validators in the cases peers and cli. None means all.
	Peers []string
	// Progress, if set, is called for each downloaded module and each started case.
	Progress func(string)
}

// Defaults are the options of make bench.
func Defaults() Options {
	return Options{Folder: "testdata/bench", Rounds: 11, Turn: 60 * time.Millisecond, Copies: 20}
}

// figure is the cost of one operation. The time is that of the processor, including the garbage collector. On an idle
// machine with one core it equals elapsed time, and other processes do not change it.
type figure struct {
	seconds float64
	allocs  float64
}

// side is one of two functions that return the same.
type side func() error

// compare runs both sides in turns and returns both medians. Each turn starts with a collected heap, so that no side
// pays for the other's garbage, and with a few uncounted operations, because a collection empties pools.
func compare(o Options, ours, upstream side) (a, b figure, err error) {
	sides := [2]side{ours, upstream}
	var n [2]int
	for i, s := range sides {
		if n[i], err = fitting(o.Turn, s); err != nil {
			return a, b, err
		}
	}
	var seconds, allocs [2][]float64
	for round := range o.Rounds {
		for turn := range sides {
			i := (round + turn) % 2
			f, err := measure(sides[i], n[i])
			if err != nil {
				return a, b, err
			}
			seconds[i], allocs[i] = append(seconds[i], f.seconds), append(allocs[i], f.allocs)
		}
	}
	return figure{median(seconds[0]), median(allocs[0])}, figure{median(seconds[1]), median(allocs[1])}, nil
}

// fitting returns the number of operations that fit into a turn.
func fitting(turn time.Duration, s side) (int, error) {
	n := 1
	for {
		took, err := timed(s, n)
		if err != nil {
			return 0, err
		}
		if took >= turn/4 {
			return max(1, int(int64(n)*int64(turn)/int64(took))), nil
		}
		n *= 2
	}
}

func measure(s side, n int) (figure, error) {
	runtime.GC()
	if _, err := timed(s, min(n, 3)); err != nil {
		return figure{}, err
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := processorTime()
	_, err := timed(s, n)
	took := processorTime() - start
	runtime.ReadMemStats(&after)
	return figure{took.Seconds() / float64(n), float64(after.Mallocs-before.Mallocs) / float64(n)}, err
}

func timed(s side, n int) (time.Duration, error) {
	start := time.Now()
	for range n {
		if err := s(); err != nil {
			return 0, err
		}
	}
	return time.Since(start), nil
}

func median(list []float64) float64 {
	slices.Sort(list)
	if n := len(list); n%2 == 0 {
		return (list[n/2-1] + list[n/2]) / 2
	}
	return list[len(list)/2]
}

// retained returns the size of the live heap.
func retained() int64 {
	// Twice: the second collection frees what finalizers and cleanups release.
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
