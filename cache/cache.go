// Package cache keeps values that are dear to build and safe to share, such as compiled programs, within a budget of bytes.
//
// It knows three things and no more: which values were used last (an LRU weighed in bytes), that a value being built is built
// once however many callers want it (single flight), and that a build belongs to nobody: it runs detached from the caller that
// started it, so that one caller's cancellation cannot fail the others. What a value is, what it weighs and how it is built
// the owner says. A failed or cancelled build is never kept: the next caller tries again.
//
// Values must be immutable: they are shared, and they outlive their eviction for as long as a caller holds them.
package cache

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"golang.org/x/sync/singleflight"
)

// ErrClosed is what callers get who ask for a value that is not there after Close.
var ErrClosed = errors.New("cache: closed")

// PanicError is the error of a build that panicked. The panic ends that build alone.
type PanicError struct {
	Value any    // what was passed to panic
	Stack []byte // the stack of the build's goroutine
}

func (e *PanicError) Error() string { return fmt.Sprintf("cache: the build panicked: %v", e.Value) }

// Options configure a Cache.
type Options[V any] struct {
	// MaxBytes is the budget: the sum of the weights of all kept values never exceeds it. A value heavier than the whole
	// budget is handed to those who wait for it and not kept. Zero or less keeps nothing.
	MaxBytes int64
	// Weigh says how many bytes a value retains. It is called once a value, when the build has ended; a negative weight counts as 0.
	Weigh func(V) int64
	// MaxBuilds bounds how many builds run at once; more wait their turn. Zero means GOMAXPROCS.
	MaxBuilds int
	// Observer is told what happens; nil means nobody is.
	Observer Observer
}

// Cache is an LRU of values by key, weighed in bytes, with detached single-flight builds. It is safe for concurrent use.
type Cache[V any] struct {
	weigh    func(V) int64
	observer Observer
	budget   int64

	flights singleflight.Group
	slots   chan struct{}
	stop    context.Context // ends with Close; every build listens to it
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex
	closed bool
	lru    *simplelru.LRU[string, entry[V]]
	bytes  int64
	counts counts
}

type entry[V any] struct {
	value  V
	weight int64
}

// New returns an empty cache. It panics if o.Weigh is nil, which is a mistake of the program, not of its input.
func New[V any](o Options[V]) *Cache[V] {
	if o.Weigh == nil {
		panic("cache: Options.Weigh is nil")
	}
	if o.MaxBuilds <= 0 {
		o.MaxBuilds = runtime.GOMAXPROCS(0)
	}
	if o.Observer == nil {
		o.Observer = silent{}
	}
	// The LRU's own bound is a count; ours is in bytes and enforced by keep.
	lru, err := simplelru.NewLRU[string, entry[V]](math.MaxInt, nil)
	if err != nil {
		panic(err) // its only error is a size below 1
	}
	c := &Cache[V]{weigh: o.Weigh, observer: o.Observer, budget: o.MaxBytes, slots: make(chan struct{}, o.MaxBuilds), lru: lru}
	c.stop, c.cancel = context.WithCancel(context.Background())
	return c
}

// Get returns the value of key, building it if it is not there. Callers that want one key at the same time share one build.
//
// The build's context has the values of the first caller's context (its trace) and neither its cancellation nor its deadline; it ends
// with Close. When ctx ends before the value is there, Get returns ctx's error at once and the build goes on for those who come
// later. The build's own error is returned to all who wait for it and then forgotten.
func (c *Cache[V]) Get(ctx context.Context, key string, build func(context.Context) (V, error)) (V, error) {
	if v, ok := c.lookup(key); ok {
		return v, nil
	}
	var none V
	if err := ctx.Err(); err != nil {
		return none, err // nobody waits: start nothing
	}
	done := c.flights.DoChan(key, func() (any, error) { return c.run(context.WithoutCancel(ctx), key, build) })
	select {
	case r := <-done:
		if r.Err != nil {
			return none, r.Err
		}
		return r.Val.(V), nil
	case <-ctx.Done():
		return none, context.Cause(ctx)
	}
}

// Cached returns the value of key if it is there: a Get that builds nothing, and counts as one if it finds something. It allocates nothing.
func (c *Cache[V]) Cached(key string) (V, bool) {
	c.mu.Lock()
	e, ok := c.lru.Get(key)
	if ok {
		c.counts.hits++
	}
	c.mu.Unlock()
	if ok {
		c.observer.Hit()
	}
	return e.value, ok
}

// lookup counts a hit or a miss.
func (c *Cache[V]) lookup(key string) (V, bool) {
	c.mu.Lock()
	e, ok := c.lru.Get(key)
	if ok {
		c.counts.hits++
	} else {
		c.counts.misses++
	}
	c.mu.Unlock()
	if ok {
		c.observer.Hit()
	} else {
		c.observer.Miss()
	}
	return e.value, ok
}

// run is one flight: it holds a build slot, builds, and keeps the value before anybody is told of it, so that between the end of the
// flight and the value's presence there is no moment at which a second build could start.
func (c *Cache[V]) run(ctx context.Context, key string, build func(context.Context) (V, error)) (V, error) {
	var none V
	if !c.enter() {
		return none, ErrClosed
	}
	defer c.running.Done()

	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-c.stop.Done():
		return none, ErrClosed
	}
	// Between the caller's miss and this flight another one may have ended.
	if e, ok := c.peek(key); ok {
		return e.value, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.stop, func() { cancel(ErrClosed) })()

	v, err := c.build(ctx, build)
	if err != nil {
		return none, err
	}
	c.Add(key, v)
	return v, nil
}

// build calls the owner's function, turns its panic into an error, and reports it.
func (c *Cache[V]) build(ctx context.Context, build func(context.Context) (V, error)) (v V, err error) {
	finished := c.observer.Build(ctx)
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{Value: p, Stack: debug.Stack()}
		}
		c.mu.Lock()
		c.counts.builds++
		if err != nil {
			c.counts.failures++
		}
		c.mu.Unlock()
		finished(err)
	}()
	return build(ctx)
}

// enter registers a running build unless the cache is closed.
func (c *Cache[V]) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.running.Add(1)
	return true
}

// Close ends the context of all running builds and waits for them, or for ctx. Kept values stay readable; nothing new is built.
func (c *Cache[V]) Close(ctx context.Context) error {
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
		return fmt.Errorf("cache: builds still running at the end of the grace period: %w", context.Cause(ctx))
	}
}
