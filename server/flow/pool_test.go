package flow

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/crdeval/crdeval/engine/host"
)

// TestRunItemsPanics checks that RunItems returns a panic of each of its functions, on any goroutine, and starts no
// further items.
func TestRunItemsPanics(t *testing.T) {
	for _, where := range []string{"newWorker", "evaluate"} {
		var evaluated atomic.Int64
		err := New(Options{Seats: 4}).RunItems(t.Context(), 4, 1000, func(context.Context, *Work) func(int) {
			ouch := func(at string) {
				if at == where {
					panic("ouch")
				}
			}
			ouch("newWorker")
			return func(int) { evaluated.Add(1); ouch("evaluate") }
		})
		if p, is := errors.AsType[*host.PanicError](err); !is || p.Value != "ouch" || !strings.Contains(string(p.Stack), "pool_test.go") {
			t.Errorf("%s: %v", where, err)
		}
		if n := evaluated.Load(); where == "evaluate" && n > 4 {
			t.Errorf("%d items after a panic", n)
		}
	}
}

// TestRunItemsParked checks that further items are evaluated while others are parked, that OnIdle is called when all are
// parked, and that parked items then go on.
func TestRunItemsParked(t *testing.T) {
	const items, workers = 20, 3
	var mu sync.Mutex
	var parked []*Parked
	var idle, ended atomic.Int64
	var once sync.Once
	err := New(Options{Seats: workers}).RunItems(t.Context(), workers, items, func(_ context.Context, w *Work) func(int) {
		return func(int) {
			err := w.Item(func(ctx context.Context) error {
				pool := PoolOf(ctx)
				once.Do(func() {
					pool.OnIdle(func() {
						mu.Lock()
						waiting := parked
						parked = nil
						mu.Unlock()
						if len(waiting) == 0 { // the batch ends
							return
						}
						if n := len(waiting); n == items {
							idle.Add(1)
						} else {
							t.Errorf("%d of %d items are parked when no worker runs", n, items)
						}
						pool.Resume(waiting...)
					})
				})
				item := pool.Park(1)
				mu.Lock()
				parked = append(parked, item)
				mu.Unlock()
				return pool.Await(ctx, item, func() { pool.Resume(item) })
			})
			if err != nil {
				t.Error(err)
			}
			ended.Add(1)
		}
	})
	if err != nil || ended.Load() != items || idle.Load() != 1 {
		t.Errorf("%d items, idle %d times, %v", ended.Load(), idle.Load(), err)
	}
}
