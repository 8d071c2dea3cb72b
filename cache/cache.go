// Package cache keeps values that are expensive to build and safe to share, such as compiled programs, within a budget
// of bytes.
//
// A Cache is an LRU that is weighed in bytes, with single-flight builds: concurrent callers that miss the same key
// share one build. A build does not end with the caller that started it, so one caller's cancellation cannot fail the
// others. Failed builds are not cached.
//
// Values must be immutable: callers share them, and may hold them after their eviction.
package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// ErrClosed is the error of a Get that would have to build a value after Close.
var ErrClosed = errors.New("cache: closed")

// Options configure a Cache.
type Options[K comparable, V any] struct {
	// MaxBytes bounds the sum of the weights of all cached values.
	MaxBytes int64
	// MaxEntryBytes bounds the weight of one value. Heavier ones are returned to the callers of Get and not cached.
	// Default: MaxBytes.
	MaxEntryBytes int64
	// Weigh returns how many bytes a value retains. It is called once for each added value; a negative weight counts as 0.
	Weigh func(V) int64
	// MaxBuilds bounds how many builds run at once. Default: GOMAXPROCS.
	MaxBuilds int
	// Run, if set, runs a build when it is its turn, instead of MaxBuilds. It returns the error of the build, or its own.
	Run func(ctx context.Context, build func(context.Context) error) error
	// OnBuild, if set, is called when a build starts; the function that it returns is called with the build's error, or
	// nil, when the build ends.
	OnBuild func(context.Context) (finished func(error))
}

// Cache is an LRU of values by key, weighed in bytes, with detached single-flight builds, safe for concurrent use.
type Cache[K comparable, V any] struct {
	options Options[K, V]
	stop    context.Context // ends with Close, and all builds with it
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	lru     *simplelru.LRU[K, entry[V]]
	flights map[K]*flight[V]
	stats   Stats // but Entries
}

type entry[V any] struct {
	value  V
	weight int64
}

// flight is a build, from the first caller that wants it to its end.
type flight[V any] struct {
	done   chan struct{} // closed when value and err are set
	value  V
	err    error
	cancel context.CancelCauseFunc // of the build's context

	// Cache.mu guards these.
	waiting int // callers
	started bool
}

// New returns an empty cache.
func New[K comparable, V any](o Options[K, V]) *Cache[K, V] {
	if o.MaxEntryBytes <= 0 || o.MaxEntryBytes > o.MaxBytes {
		o.MaxEntryBytes = o.MaxBytes
	}
	if o.OnBuild == nil {
		o.OnBuild = func(context.Context) func(error) { return func(error) {} }
	}
	if o.Run == nil {
		o.Run = slots(make(chan struct{}, cmp.Or(o.MaxBuilds, runtime.GOMAXPROCS(0)))).run
	}
	// simplelru bounds the number of entries; Add bounds their weight.
	lru, _ := simplelru.NewLRU[K, entry[V]](math.MaxInt, nil) // fails for sizes below 1 only
	c := &Cache[K, V]{
		options: o, lru: lru, flights: map[K]*flight[V]{}, stats: Stats{MaxBytes: o.MaxBytes},
	}
	c.stop, c.cancel = context.WithCancel(context.Background())
	return c
}

// Get returns the value of key. If it is not cached, Get builds it, or waits for a build of it that another caller
// started.
//
// The build's context has the values of the first caller's context, but neither its cancellation nor its deadline; it
// ends with Close. When ctx ends first, Get returns its cause at once. A running build continues for later callers; one
// that waits for its turn is dropped with its last caller.
func (c *Cache[K, V]) Get(ctx context.Context, key K, build func(context.Context) (V, error)) (V, error) {
	value, f, err := c.join(ctx, key, build)
	if f == nil {
		return value, err
	}
	select {
	case <-f.done:
		return f.value, f.err
	case <-ctx.Done():
		c.leave(key, f)
		return value, context.Cause(ctx)
	}
}

// join returns the value of key, or a flight to wait for.
func (c *Cache[K, V]) join(
	ctx context.Context, key K, build func(context.Context) (V, error),
) (value V, f *flight[V], err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.lru.Get(key); ok {
		c.stats.Hits++
		return e.value, nil, nil
	}
	c.stats.Misses++
	if ctx.Err() != nil {
		return value, nil, context.Cause(ctx)
	}
	f = c.flights[key]
	if f == nil {
		if c.closed {
			return value, nil, ErrClosed
		}
		f = &flight[V]{done: make(chan struct{})}
		ctx, f.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
		c.flights[key] = f
		c.running.Go(func() { c.run(ctx, key, f, build) })
	}
	f.waiting++
	return value, f, nil
}

// leave removes one caller from a flight, and the flight with the last caller if the build has not started.
func (c *Cache[K, V]) leave(key K, f *flight[V]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.waiting--; f.waiting == 0 && !f.started {
		delete(c.flights, key)
		f.cancel(nil)
	}
}

// slots has one element for each running build.
type slots chan struct{}

// run runs a build in a slot.
func (s slots) run(ctx context.Context, build func(context.Context) error) error {
	select {
	case s <- struct{}{}:
		defer func() { <-s }()
		return build(ctx)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// run builds when it is the turn of the flight, and ends it. ctx ends with Close, and when all callers leave before that.
func (c *Cache[K, V]) run(ctx context.Context, key K, f *flight[V], build func(context.Context) (V, error)) {
	defer f.cancel(nil)
	defer context.AfterFunc(c.stop, func() { f.cancel(ErrClosed) })()
	finished := func(error) {}
	f.err = recovered(func() error {
		return c.options.Run(ctx, func(ctx context.Context) error {
			return recovered(func() (err error) {
				if !c.start(ctx, f) {
					return context.Cause(ctx)
				}
				finished = c.options.OnBuild(ctx)
				f.value, err = build(ctx)
				return err
			})
		})
	})
	var weight int64
	if f.err == nil {
		f.err = recovered(func() error {
			weight = c.options.Weigh(f.value)
			return nil
		})
	}
	err := recovered(func() error {
		finished(f.err)
		return nil
	})
	f.err = cmp.Or(f.err, err)
	c.end(key, f, weight)
}

// start marks the flight as started, unless its context has ended.
func (c *Cache[K, V]) start(ctx context.Context, f *flight[V]) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	f.started = ctx.Err() == nil
	return f.started
}

// recovered calls a function of the caller and turns a panic into an error.
func recovered(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("cache: the build panicked: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}

// end caches the flight's value and wakes its callers.
func (c *Cache[K, V]) end(key K, f *flight[V], weight int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.flights[key] == f { // after the last caller has left, another flight may have the key
		delete(c.flights, key)
	}
	switch {
	case f.err == nil:
		c.stats.Builds++
		c.add(key, f.value, weight)
	case f.started:
		c.stats.Builds++
		c.stats.Failures++
	}
	close(f.done)
}

// Cached returns the value of key if it is cached. A hit counts as a use, a miss is not counted. It allocates nothing.
func (c *Cache[K, V]) Cached(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.lru.Get(key)
	if ok {
		c.stats.Hits++
	}
	return e.value, ok
}

// Add caches a value in place of the previous one of its key. A value heavier than MaxEntryBytes is not cached; the
// previous one is dropped all the same.
func (c *Cache[K, V]) Add(key K, value V) {
	weight := c.options.Weigh(value)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(key, value, weight)
}

func (c *Cache[K, V]) add(key K, value V, weight int64) {
	c.remove(key)
	if weight = max(weight, 0); weight > c.options.MaxEntryBytes {
		c.stats.Oversized++
		return
	}
	// Bytes+weight could overflow.
	for c.stats.Bytes > c.options.MaxBytes-weight {
		_, old, _ := c.lru.RemoveOldest()
		c.stats.Bytes -= old.weight
		c.stats.Evictions++
	}
	c.lru.Add(key, entry[V]{value: value, weight: weight})
	c.stats.Bytes += weight
}

// Remove drops the value of key. It does not affect a running build.
func (c *Cache[K, V]) Remove(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(key)
}

func (c *Cache[K, V]) remove(key K) {
	if e, ok := c.lru.Peek(key); ok {
		c.lru.Remove(key)
		c.stats.Bytes -= e.weight
	}
}

// Stats are the counts of a cache.
type Stats struct {
	Entries   int    // cached values
	Bytes     int64  // sum of their weights
	MaxBytes  int64  // Options.MaxBytes
	Hits      uint64 // lookups that found their value
	Misses    uint64 // Gets that did not
	Evictions uint64 // values that were dropped to make room
	Builds    uint64 // builds that ended
	Failures  uint64 // builds that ended with an error
	Oversized uint64 // values heavier than MaxEntryBytes, which were not cached
}

// Stats returns all counts at one moment.
func (c *Cache[K, V]) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.Entries = c.lru.Len()
	return s
}

// Close cancels all builds and waits for them, or for ctx. Cached values stay readable; a Get that would have to build
// returns ErrClosed.
func (c *Cache[K, V]) Close(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel()
	idle := make(chan struct{})
	go func() {
		c.running.Wait()
		close(idle)
	}()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("cache: builds still run at the end of the grace period: %w", context.Cause(ctx))
	}
}
