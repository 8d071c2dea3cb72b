package cache

import "context"

// Observer is told of every event of a cache, for metrics and traces. Its methods are called without locks held, from any goroutine, and
// must return quickly.
type Observer interface {
	// Hit is a Get that found its value.
	Hit()
	// Miss is a Get that did not, whether or not it started a build.
	Miss()
	// Evict reports that n values, n > 0, had to go to make room for another one.
	Evict(n int)
	// Build is called when a build starts; the function it returns is called when the build ends, with its error or nil.
	Build(ctx context.Context) (finished func(err error))
}

type silent struct{}

func (silent) Hit()                              {}
func (silent) Miss()                             {}
func (silent) Evict(int)                         {}
func (silent) Build(context.Context) func(error) { return func(error) {} }

// counts are the totals since New.
type counts struct{ hits, misses, evictions, builds, failures, oversized uint64 }

// Stats is a moment's picture of a cache.
type Stats struct {
	Entries   int    // values kept now
	Bytes     int64  // what they weigh together
	MaxBytes  int64  // the budget
	Hits      uint64 // Gets that found their value
	Misses    uint64 // Gets that did not
	Evictions uint64 // values that had to make room
	Builds    uint64 // builds that ended, well or badly
	Failures  uint64 // builds that ended badly
	Oversized uint64 // values handed out but not kept: heavier than the budget
}

// Stats returns the cache's figures, all of one moment.
func (c *Cache[V]) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.counts
	return Stats{
		Entries: c.lru.Len(), Bytes: c.bytes, MaxBytes: c.budget,
		Hits: n.hits, Misses: n.misses, Evictions: n.evictions, Builds: n.builds, Failures: n.failures, Oversized: n.oversized,
	}
}
