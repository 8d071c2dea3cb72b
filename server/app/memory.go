package app

import (
	"math"
	"os"
	"runtime/debug"

	"github.com/crdeval/crdeval/server/memory"
	"github.com/crdeval/crdeval/server/settings"
)

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
func memoryOf(goLimit int64) settings.Bytes {
	if goLimit < math.MaxInt64 && os.Getenv("GOMEMLIMIT") != "" {
		return settings.Bytes(goLimit / (goLimitPart - 1) * goLimitPart)
	}
	return settings.Bytes(memory.Available())
}

// withMemory returns the configuration with all limits that derive from --memory.
func (c Config) withMemory() Config {
	if c.Memory == 0 {
		c.Memory = memoryOf(debug.SetMemoryLimit(-1))
	}
	if c.CacheBytes == 0 {
		c.CacheBytes = min(256*settings.MiB, c.Memory/cachePart)
	}
	if c.MaxMessageBytes == 0 {
		c.MaxMessageBytes = max(min(64*settings.MiB, c.Memory/messagePart), c.MaxDocumentBytes)
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
	const least = 64 * settings.MiB
	if c.CacheBytes < 0 {
		wrong("cache-bytes", "%d is negative", c.CacheBytes)
	}
	switch memory := c.withMemory().Memory; {
	case memory < least && c.Memory == 0:
		wrong("memory", "the default here is %v, which is less than %v: raise GOMEMLIMIT or the memory limit of the container, or set --memory",
			memory, least)
	case memory < least:
		wrong("memory", "%v is less than %v", memory, least)
	case c.CacheBytes > memory/4*3:
		wrong("cache-bytes", "%v exceeds three quarters of --memory=%v", c.CacheBytes, memory)
	}
}

// limitMemory sets Go's memory limit, unless GOMEMLIMIT does, and returns it.
func limitMemory(bytes int64) int64 {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(bytes / goLimitPart * (goLimitPart - 1))
	}
	return debug.SetMemoryLimit(-1)
}

// heapFloor returns the size to which the heap may grow before each garbage collection: 80 MiB, or a quarter of the memory
// limit if that is less.
func heapFloor(limit int64) int64 {
	const floor = 80 << 20
	if limit > 0 {
		return min(floor, limit/4)
	}
	return floor
}
