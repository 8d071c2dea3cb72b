package app

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// With Go's default, a service with a small live heap and much garbage collects too often: with 10 MiB live, after every
// 10 MiB, which is a batch or two. So a heap may grow to gcFloor, or a quarter of the memory limit, before a collection.
// A larger heap doubles, but grows by at most gcGrowth, or by half if that is more.
const (
	gcFloor   = 80 << 20
	gcGrowth  = 192 << 20
	gcDefault = 100 // of GOGC
	gcLeast   = 50
	gcMost    = 1600
)

// gcPercent returns the GOGC for a live heap.
func gcPercent(live, floor int64) int {
	if live <= 0 {
		return gcMost
	}
	large := min(max(gcGrowth*100/live, gcLeast), gcDefault)
	return int(min(max((floor-live)*100/live, large), gcMost))
}

// paceCollector sets GOGC after each collection until ctx ends, unless the environment sets GOGC.
func paceCollector(ctx context.Context, limit int64) {
	if os.Getenv("GOGC") != "" {
		return
	}
	floor := int64(gcFloor)
	if limit > 0 {
		floor = min(floor, limit/4)
	}
	before := debug.SetGCPercent(gcDefault)
	defer debug.SetGCPercent(before)
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	collected := collections(ctx)
	for set := gcDefault; ; {
		metrics.Read(sample)
		// Setting GOGC stops the world for some microseconds, so small changes are skipped.
		if percent := gcPercent(int64(sample[0].Value.Uint64()), floor); abs(percent-set) > set/8 {
			debug.SetGCPercent(percent)
			set = percent
		}
		select {
		case <-ctx.Done():
			return
		case <-collected:
		}
	}
}

func abs(n int) int { return max(n, -n) }

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
