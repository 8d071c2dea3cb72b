package app

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// containerLimit returns the smallest memory limit of the cgroups of the process, or 0 if they have no limit. root is the
// file system. In a container, a cgroup can be mounted at a shorter path than /proc/self/cgroup names. Then only some of
// its parents have a file.
func containerLimit(root fs.FS) (limit int64) {
	groups, _ := fs.ReadFile(root, "proc/self/cgroup")
	for line := range strings.Lines(string(groups)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3) // number, controllers, path
		if len(fields) != 3 {
			continue
		}
		dir, file := "sys/fs/cgroup", "memory.max" // v2
		if fields[1] != "" {
			dir, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
			if !slices.Contains(strings.Split(fields[1], ","), "memory") {
				continue
			}
		}
		for group := path.Clean("/" + fields[2]); ; group = path.Dir(group) {
			content, _ := fs.ReadFile(root, path.Join(dir, group, file))
			n, err := strconv.ParseInt(strings.TrimSpace(string(content)), 10, 64)
			if err == nil && n > 0 && n < 1<<60 { // without a limit, v2 has "max" and v1 a huge number
				limit = min(cmp.Or(limit, n), n)
			}
			if group == "/" {
				break
			}
		}
	}
	return limit
}

// machineMemory returns the memory of the machine, or assumedMemory if the system does not report it.
func machineMemory(root fs.FS) int64 {
	const assumedMemory = 4 << 30
	content, _ := fs.ReadFile(root, "proc/meminfo")
	for line := range strings.Lines(string(content)) {
		var kib int64
		if n, _ := fmt.Sscanf(line, "MemTotal: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	return assumedMemory
}

// Parts of --memory. The memory limit of Go leaves a fifth for the binary, and for allocations before a collection
// frees memory. Live memory is the cache, the memory of calls and the registered CRDs. The rest is for garbage.
const (
	goLimitPart    = 5 // the memory limit of Go leaves one part in goLimitPart
	cachePart      = 4
	messagePart    = 16
	bytesPerClient = 512 << 10 // of --memory, for each connection
	maxConnections = 16384
	bytesPerWatch  = 256 << 10 // of --memory; an idle watch takes about 28 KiB
	maxWatches     = 16384
)

// memoryOf returns the memory that the process may use by default: from GOMEMLIMIT, the container or the machine.
func memoryOf(goLimit int64) Bytes {
	if goLimit < math.MaxInt64 && os.Getenv("GOMEMLIMIT") != "" {
		return Bytes(goLimit / (goLimitPart - 1) * goLimitPart)
	}
	root := os.DirFS("/")
	machine := machineMemory(root)
	return Bytes(min(cmp.Or(containerLimit(root), machine), machine))
}

// withMemory returns the configuration with all limits that derive from --memory.
func (c Config) withMemory() Config {
	if c.Memory == 0 {
		c.Memory = memoryOf(debug.SetMemoryLimit(-1))
	}
	if c.CacheBytes == 0 {
		c.CacheBytes = min(256*MiB, c.Memory/cachePart)
	}
	if c.MaxMessageBytes == 0 {
		c.MaxMessageBytes = max(min(64*MiB, c.Memory/messagePart), c.MaxDocumentBytes)
	}
	return c
}

// callBytes returns the size of the ledger of the memory of calls: three eighths of --memory without the cache.
func (c *Config) callBytes() int64 {
	return max(int64(c.Memory-c.CacheBytes)/8*3, int64(c.Memory)/messagePart)
}

// maxConnections returns the limit of open connections.
func (c *Config) maxConnections() int { return int(min(c.Memory/bytesPerClient, maxConnections)) }

// maxWatches returns the limit of open watches.
func (c *Config) maxWatches() int { return int(min(c.Memory/bytesPerWatch, maxWatches)) }

// checkMemory reports contradictions of --memory and other limits.
func (c *Config) checkMemory(wrong func(flag, format string, args ...any)) {
	const least = 64 * MiB
	if c.CacheBytes < 0 {
		wrong("cache-bytes", "%d is negative", c.CacheBytes)
	}
	switch {
	case c.Memory == 0:
	case c.Memory < least:
		wrong("memory", "%v is less than %v", c.Memory, least)
	case c.CacheBytes > c.Memory/4*3:
		wrong("cache-bytes", "%v exceeds three quarters of --memory=%v", c.CacheBytes, c.Memory)
	}
}

// limitMemory sets Go's memory limit, unless GOMEMLIMIT does, and returns it.
func limitMemory(memory int64) int64 {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memory / goLimitPart * (goLimitPart - 1))
	}
	return debug.SetMemoryLimit(-1)
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
