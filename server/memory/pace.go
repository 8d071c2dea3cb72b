// Package memory adapts a process to the memory that it may use.
package memory

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	defaultPercent = 100 // of GOGC
	maxPercent     = 1600
	minHeap        = 4 << 20 // the size in bytes to which a heap grows before a collection, with a GOGC of 100
)

// ServerGrowth and ServerPercent are the smallest growths of a heap for Pace in servers, in bytes and in percent.
const (
	ServerGrowth  = 96 << 20
	ServerPercent = 50
)

// percent returns the GOGC for a live heap.
func percent(live, floor, growth int64, least int) int {
	if live <= 0 { // before the first collection, the runtime's floor is proportional to GOGC
		return int(min(floor*defaultPercent/minHeap, maxPercent))
	}
	large := min(max(growth*100/live, int64(least)), defaultPercent)
	return int(min(max((floor-live)*100/live, large), maxPercent))
}

// Pace sets GOGC after each collection until ctx ends, unless the environment sets GOGC. A heap may grow to floor, in
// bytes, before a collection. A larger heap doubles, but grows by at most growth bytes, or by least percent if that is
// more.
//
// With Go's default, a service with a small live heap and much garbage collects too often: with 10 MiB live, after
// every 10 MiB, which is a batch or two.
func Pace(ctx context.Context, floor, growth int64, least int) {
	if os.Getenv("GOGC") != "" {
		return
	}
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/gogc:percent"}}
	metrics.Read(sample)
	before := int(sample[1].Value.Uint64())
	defer debug.SetGCPercent(before)
	collected := collections(ctx)
	for set := before; ; {
		metrics.Read(sample)
		// Setting GOGC stops the world for some microseconds, so small changes are skipped.
		if p := percent(int64(sample[0].Value.Uint64()), floor, growth, least); max(p-set, set-p) > set/8 {
			debug.SetGCPercent(p)
			set = p
		}
		select {
		case <-ctx.Done():
			return
		case <-collected:
		}
	}
}

// collections returns a channel with an element after each collection until ctx ends. It may combine several.
func collections(ctx context.Context) <-chan struct{} {
	done := make(chan struct{}, 1)
	var wait func()
	wait = func() {
		garbage := new([16]byte) // large enough not to share memory with other objects
		runtime.AddCleanup(garbage, func(struct{}) {
			select {
			case done <- struct{}{}:
			default:
			}
			if ctx.Err() == nil {
				wait()
			}
		}, struct{}{})
	}
	wait()
	return done
}
