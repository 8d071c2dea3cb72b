package app

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// A service whose live heap is small and whose garbage is much would spend its time collecting: with 10 MiB alive, Go collects every 10 MiB,
// which a batch or two are. So the heap may grow to gcFloor, or a quarter of the memory limit, before a collection. A heap of which more than that is
// alive doubles, as Go has it by default, as long as that is no more than gcGrowth: what a cache of some hundred MiB holds should not be paid for twice. A still
// larger one grows by half.
const (
	gcFloor   = 80 << 20
	gcGrowth  = 192 << 20
	gcDefault = 100 // GOGC's own
	gcLeast   = 50
	gcMost    = 1600
)

// gcPercent is the GOGC at which a heap with live bytes alive grows to the floor, or by gcGrowth.
func gcPercent(live, floor int64) int {
	if live <= 0 {
		return gcMost
	}
	large := min(max(gcGrowth*100/live, gcLeast), gcDefault)
	return int(min(max((floor-live)*100/live, large), gcMost))
}

// paceCollector sets GOGC by what is alive until ctx ends, then sets it back. It does nothing if GOGC is set.
//
// It looks after every collection and not now and then: a heap that grows while nobody looks would grow by the percentage of the small one that it was.
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
		// Setting it stops the world, for microseconds; a small difference is not worth that.
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

// collections has an element after each collection, or after several, until ctx ends.
func collections(ctx context.Context) <-chan struct{} {
	told := make(chan struct{}, 1)
	var wait func()
	wait = func() {
		garbage := new([16]byte) // not so small that others share its memory and keep it
		runtime.AddCleanup(garbage, func(struct{}) {
			select {
			case told <- struct{}{}:
			default:
			}
			if ctx.Err() == nil {
				wait()
			}
		}, struct{}{})
	}
	wait()
	return told
}
