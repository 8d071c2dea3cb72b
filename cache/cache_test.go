package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func weighInt(v int) int64 { return int64(v) }

func constant(v int) func(context.Context) (int, error) {
	return func(context.Context) (int, error) { return v, nil }
}

// contains reports whether a value is cached, without counting as a use.
func contains(c *Cache[string, int], key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lru.Contains(key)
}

func mustGet(t *testing.T, c *Cache[string, int], key string, v int) {
	t.Helper()
	got, err := c.Get(t.Context(), key, constant(v))
	if err != nil || got != v {
		t.Fatalf("Get(%s) = %d, %v; want %d", key, got, err, v)
	}
}

func TestEvictionByWeight(t *testing.T) {
	for _, tc := range []struct {
		name    string
		budget  int64
		weights []int // key i weighs weights[i]
		touch   []int // keys used again before the last one is added
		cached  []int
		bytes   int64
		evicted uint64
	}{
		{"all fit exactly", 10, []int{3, 3, 4}, nil, []int{0, 1, 2}, 10, 0},
		{"the oldest goes", 10, []int{3, 3, 5}, nil, []int{1, 2}, 8, 1},
		{"a used one stays", 10, []int{3, 3, 5}, []int{0}, []int{0, 2}, 8, 1},
		{"one heavy value evicts several", 10, []int{3, 3, 3, 9}, nil, []int{3}, 9, 3},
		{"heavier than the budget: not cached, evicts nothing", 10, []int{3, 3, 11}, nil, []int{0, 1}, 6, 0},
		{"as heavy as the budget", 10, []int{3, 3, 10}, nil, []int{2}, 10, 2},
		{"no overflow", math.MaxInt64, []int{math.MaxInt - 1, 5}, nil, []int{1}, 5, 1},
		{"negative weight counts as nothing", 10, []int{10, -7}, nil, []int{0, 1}, 10, 0},
		{"no budget keeps nothing but the weightless", 0, []int{1, 0}, nil, []int{1}, 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := New(Options[string, int]{MaxBytes: tc.budget, Weigh: weighInt})
			for i, w := range tc.weights {
				if i == len(tc.weights)-1 {
					for _, k := range tc.touch {
						mustGet(t, c, fmt.Sprint(k), tc.weights[k])
					}
				}
				mustGet(t, c, fmt.Sprint(i), w) // served, cached or not
			}
			want := map[int]bool{}
			for _, k := range tc.cached {
				want[k] = true
			}
			for i := range tc.weights {
				if got := contains(c, fmt.Sprint(i)); got != want[i] {
					t.Errorf("key %d cached: %t, want %t", i, got, want[i])
				}
			}
			s := c.Stats()
			if s.Bytes != tc.bytes || s.Evictions != tc.evicted || s.Entries != len(tc.cached) {
				t.Errorf("stats %+v, want %d bytes, %d evictions, %d entries", s, tc.bytes, tc.evicted, len(tc.cached))
			}
		})
	}
}

func TestReplaceAndRemove(t *testing.T) {
	c := New(Options[string, int]{MaxBytes: 10, Weigh: weighInt})
	c.Add("a", 4)
	c.Add("a", 6)
	if s := c.Stats(); s.Bytes != 6 || s.Entries != 1 {
		t.Errorf("after replacing: %+v", s)
	}
	c.Add("a", 11) // too heavy: and the old value must not be served instead
	if contains(c, "a") {
		t.Error("the replaced value is still there")
	}
	c.Add("b", 2)
	c.Remove("b")
	c.Remove("never there")
	if s := c.Stats(); s.Bytes != 0 || s.Entries != 0 || s.Oversized != 1 {
		t.Errorf("after removing: %+v", s)
	}
}

func TestWaitersShareOneBuild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Options[string, int]{MaxBytes: 100, Weigh: weighInt})
		var builds atomic.Int32
		build := func(context.Context) (int, error) {
			builds.Add(1)
			time.Sleep(time.Second)
			return 7, nil
		}
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if v, err := c.Get(t.Context(), "k", build); v != 7 || err != nil {
					t.Errorf("got %d, %v", v, err)
				}
			})
		}
		wg.Wait()
		if n := builds.Load(); n != 1 {
			t.Errorf("%d builds, want 1", n)
		}
		if s := c.Stats(); s.Misses != 50 || s.Builds != 1 {
			t.Errorf("stats %+v", s)
		}
	})
}

// The first caller goes away; the second, who joined its build, must get the value, and so must a caller that comes later.
func TestBuildIsDetachedFromItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		c := New(Options[string, int]{MaxBytes: 100, Weigh: weighInt})
		first, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "trace"))
		build := func(ctx context.Context) (int, error) {
			if ctx.Value(key{}) != "trace" {
				t.Error("the build lost the values of its caller's context")
			}
			select {
			case <-time.After(time.Second):
				return 7, nil
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := c.Get(first, "k", build); !errors.Is(err, context.Canceled) {
				t.Errorf("first caller: %v", err)
			}
		})
		synctest.Wait()
		wg.Go(func() {
			if v, err := c.Get(t.Context(), "k", build); v != 7 || err != nil {
				t.Errorf("second caller: %d, %v", v, err)
			}
		})
		synctest.Wait()
		start := time.Now()
		cancel()
		synctest.Wait()
		if time.Since(start) != 0 {
			t.Error("the cancelled caller waited")
		}
		wg.Wait()
		if !contains(c, "k") {
			t.Error("the value was not cached")
		}
	})
}

func TestFailuresAreNotCached(t *testing.T) {
	boom := errors.New("boom")
	for _, tc := range []struct {
		name  string
		build func(context.Context) (int, error)
		check func(error) bool
	}{
		{"error", func(context.Context) (int, error) { return 0, boom }, func(err error) bool { return errors.Is(err, boom) }},
		{"cancellation", func(context.Context) (int, error) { return 0, context.Canceled }, func(err error) bool { return errors.Is(err, context.Canceled) }},
		{"panic", func(context.Context) (int, error) { panic("ouch") }, func(err error) bool {
			return strings.Contains(err.Error(), "ouch") && strings.Contains(err.Error(), "cache_test.go")
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := New(Options[string, int]{MaxBytes: 100, Weigh: weighInt})
			if _, err := c.Get(t.Context(), "k", tc.build); !tc.check(err) {
				t.Fatalf("got %v", err)
			}
			mustGet(t, c, "k", 5)
			if s := c.Stats(); s.Builds != 2 || s.Failures != 1 {
				t.Errorf("stats %+v", s)
			}
		})
	}
}

// TestPanicsOfOptions checks that a panic of a function of Options fails the build, and that the key can be built again.
func TestPanicsOfOptions(t *testing.T) {
	armed := false
	ouch := func() {
		if armed {
			panic("ouch")
		}
	}
	for name, o := range map[string]Options[string, int]{
		"Weigh":                             {Weigh: func(int) int64 { ouch(); return 1 }},
		"OnBuild":                           {OnBuild: func(context.Context) func(error) { ouch(); return func(error) {} }},
		"the function that OnBuild returns": {OnBuild: func(context.Context) func(error) { return func(error) { ouch() } }},
		"Run, before the build":             {Run: func(ctx context.Context, f func(context.Context) error) error { ouch(); return f(ctx) }},
		"Run, after the build": {Run: func(ctx context.Context, f func(context.Context) error) error {
			err := f(ctx)
			ouch()
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if o.MaxBytes = 100; o.Weigh == nil {
				o.Weigh = weighInt
			}
			c := New(o)
			armed = true
			_, err := c.Get(t.Context(), "k", constant(5))
			if armed = false; err == nil || !strings.Contains(err.Error(), "ouch") || !strings.Contains(err.Error(), "cache_test.go") {
				t.Errorf("got %v", err)
			}
			mustGet(t, c, "k", 5)
		})
	}
}

func TestCancelledCallerStartsNothing(t *testing.T) {
	c := New(Options[string, int]{MaxBytes: 100, Weigh: weighInt})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Get(ctx, "k", func(context.Context) (int, error) { t.Error("built"); return 0, nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	c.Add("k", 3)
	if v, err := c.Get(ctx, "k", constant(3)); v != 3 || err != nil {
		t.Errorf("a value that is there costs no waiting: got %d, %v", v, err)
	}
}

func TestCached(t *testing.T) {
	c := New(Options[string, int]{MaxBytes: 10, Weigh: weighInt})
	if v, ok := c.Cached("a"); ok {
		t.Errorf("got %d of an empty cache", v)
	}
	c.Add("a", 4)
	c.Add("b", 4)
	if v, ok := c.Cached("a"); !ok || v != 4 {
		t.Errorf("got %d, %t", v, ok)
	}
	c.Add("c", 4) // b goes: a was used
	if s := c.Stats(); !contains(c, "a") || contains(c, "b") || s.Hits != 1 || s.Misses != 0 {
		t.Errorf("stats %+v", s)
	}
}

func TestMaxBuilds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Options[string, int]{MaxBytes: 100, Weigh: weighInt, MaxBuilds: 2})
		var now, peak atomic.Int32
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				_, _ = c.Get(t.Context(), fmt.Sprint(i), func(context.Context) (int, error) {
					peak.Store(max(peak.Load(), now.Add(1)))
					time.Sleep(time.Second)
					now.Add(-1)
					return 1, nil
				})
			})
		}
		wg.Wait()
		if p := peak.Load(); p != 2 {
			t.Errorf("%d builds at once, want 2", p)
		}
	})
}

// A build that waits for a slot does not start once all of its callers have left. One that still has a caller does.
func TestAbandonedBuildDoesNotStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Options[string, int]{MaxBytes: 100, Weigh: weighInt, MaxBuilds: 1})
		release := make(chan struct{})
		go func() {
			_, _ = c.Get(t.Context(), "slow", func(context.Context) (int, error) { <-release; return 1, nil })
		}()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		for range 2 {
			go func() {
				_, err := c.Get(ctx, "abandoned", func(context.Context) (int, error) { t.Error("built without a caller"); return 1, nil })
				if !errors.Is(err, context.Canceled) {
					t.Errorf("got %v", err)
				}
			}()
		}
		go func() { _, _ = c.Get(ctx, "shared", constant(2)) }()
		synctest.Wait()
		go func() {
			if _, err := c.Get(t.Context(), "shared", constant(2)); err != nil {
				t.Errorf("got %v", err)
			}
		}()
		synctest.Wait()
		cancel()
		synctest.Wait()
		close(release)
		synctest.Wait()
		if s := c.Stats(); s.Builds != 2 || contains(c, "abandoned") || !contains(c, "shared") {
			t.Errorf("stats %+v", s)
		}
		mustGet(t, c, "abandoned", 3) // it can still be built later
	})
}

// TestRun checks that Options.Run decides when builds run, that builds which wait there end with their callers, and that
// its error is that of the build.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turn := make(chan error)
		var waiting atomic.Int64
		c := New(Options[string, int]{MaxBytes: 100, Weigh: weighInt, Run: func(ctx context.Context, build func(context.Context) error) error {
			waiting.Add(1)
			defer waiting.Add(-1)
			select {
			case err := <-turn:
				return cmp.Or(err, build(ctx))
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}})
		ctx, cancel := context.WithCancel(t.Context())
		for i := range 100 {
			go func() { _, _ = c.Get(ctx, fmt.Sprint(i), constant(1)) }()
			synctest.Wait()
		}
		if n := waiting.Load(); n != 100 {
			t.Errorf("%d builds wait", n)
		}
		cancel()
		synctest.Wait()
		if s := c.Stats(); waiting.Load() != 0 || s.Builds != 0 {
			t.Errorf("%d builds wait without a caller, %+v", waiting.Load(), s)
		}
		go func() { turn <- nil }()
		mustGet(t, c, "a", 1)
		late := errors.New("late")
		go func() { turn <- late }()
		if _, err := c.Get(t.Context(), "b", constant(1)); !errors.Is(err, late) || contains(c, "b") {
			t.Error(err)
		}
	})
}

func TestMaxEntryBytes(t *testing.T) {
	c := New(Options[string, int]{MaxBytes: 10, MaxEntryBytes: 4, Weigh: weighInt})
	mustGet(t, c, "small", 4)
	mustGet(t, c, "large", 5)
	if !contains(c, "small") || contains(c, "large") || c.Stats().Oversized != 1 {
		t.Errorf("stats %+v", c.Stats())
	}
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Options[string, int]{MaxBytes: 100, Weigh: weighInt, MaxBuilds: 1})
		c.Add("there", 1)
		var wg sync.WaitGroup
		for _, k := range []string{"running", "queued"} {
			wg.Go(func() {
				_, err := c.Get(t.Context(), k, func(ctx context.Context) (int, error) {
					<-ctx.Done()
					return 0, context.Cause(ctx)
				})
				if !errors.Is(err, ErrClosed) {
					t.Errorf("%s: %v", k, err)
				}
			})
			synctest.Wait()
		}
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
		wg.Wait()
		mustGet(t, c, "there", 1)
		if _, err := c.Get(t.Context(), "new", constant(1)); !errors.Is(err, ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	})
}

func TestCloseHasADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Options[string, int]{MaxBytes: 100, Weigh: weighInt})
		go func() {
			_, _ = c.Get(context.Background(), "stubborn", func(context.Context) (int, error) { time.Sleep(time.Minute); return 1, nil })
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := c.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		time.Sleep(2 * time.Minute)
	})
}

// Many goroutines use few keys in a small cache: the counts add up, and the callbacks saw what Stats counted.
func TestConcurrentUse(t *testing.T) {
	var started, ended, failed atomic.Uint64
	c := New(Options[string, int]{
		MaxBytes: 20, Weigh: weighInt,
		OnBuild: func(context.Context) func(error) {
			started.Add(1)
			return func(err error) {
				ended.Add(1)
				if err != nil {
					failed.Add(1)
				}
			}
		},
	})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 500 {
				k := (g*7 + i) % 13
				v, err := c.Get(t.Context(), fmt.Sprint(k), func(context.Context) (int, error) {
					if i%17 == 0 {
						return 0, errors.New("now and then")
					}
					return k, nil
				})
				if err == nil && v != k {
					t.Errorf("key %d has value %d", k, v)
				}
				if i%29 == 0 {
					c.Remove(fmt.Sprint(k))
				}
			}
		})
	}
	wg.Wait()
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := c.Stats()
	if s.Bytes > 20 || s.Bytes < 0 {
		t.Errorf("MaxBytes exceeded: %+v", s)
	}
	if ended.Load() != s.Builds || failed.Load() != s.Failures || started.Load() != ended.Load() {
		t.Errorf("callbacks counted %d, %d, %d; stats %+v", started.Load(), ended.Load(), failed.Load(), s)
	}
	if s.Hits+s.Misses != 8*500 {
		t.Errorf("%d lookups counted, want %d", s.Hits+s.Misses, 8*500)
	}
}

func BenchmarkHit(b *testing.B) {
	c := New(Options[string, int]{MaxBytes: 1 << 20, Weigh: weighInt})
	c.Add("sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", 1)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = c.Get(b.Context(), "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", constant(1))
	}
}
