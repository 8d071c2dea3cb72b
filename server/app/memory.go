package app

import (
	"context"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// cgroupFiles have the memory limit of a container: cgroup v2, then v1.
var cgroupFiles = []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}

// containerLimit returns the container's memory limit, or 0.
func containerLimit(files []string) int64 {
	for _, path := range files {
		content, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(content)), 10, 64)
		if err == nil && n > 0 && n < 1<<60 { // unlimited is a huge number in v1 and "max" in v2
			return n
		}
		return 0
	}
	return 0
}

// limitMemory sets Go's memory limit from the container, unless GOMEMLIMIT does. It returns the limit, 0 for none.
func limitMemory() int64 {
	if os.Getenv("GOMEMLIMIT") == "" {
		if limit := containerLimit(cgroupFiles); limit > 0 {
			debug.SetMemoryLimit(limit / 10 * 9)
		}
	}
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		return limit
	}
	return 0
}

// pressure returns a function that reports whether memory is short: whether the live heap of the last collection
// exceeds seven eighths of the limit. It is nil without a limit.
//
// While calls are rejected, little is allocated and a collection may be minutes away. So the function starts one every
// second.
func pressure(limit int64) func() bool {
	if limit <= 0 {
		return nil
	}
	var (
		next    atomic.Int64 // time of the next check, in nanoseconds since start
		collect atomic.Int64 // time of the next collection
		short   atomic.Bool
		start   = time.Now()
	)
	return func() bool {
		now := int64(time.Since(start))
		if due := next.Load(); now >= due && next.CompareAndSwap(due, now+int64(100*time.Millisecond)) {
			sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
			metrics.Read(sample)
			was := short.Swap(sample[0].Value.Uint64() > uint64(limit/8*7))
			if due := collect.Load(); short.Load() && now >= due && collect.CompareAndSwap(due, now+int64(time.Second)) && was {
				go runtime.GC()
			}
		}
		return short.Load()
	}
}

// With Go's default, a service with a small live heap and much garbage collects too often: with 10 MiB live, after
// every 10 MiB, which is a batch or two. So a heap may grow to gcFloor, or a quarter of the memory limit, before a
// collection. A larger heap doubles, but grows by at most gcGrowth, or by half if that is more.
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
		if percent := gcPercent(int64(sample[0].Value.Uint64()), floor); max(percent-set, set-percent) > set/8 {
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
