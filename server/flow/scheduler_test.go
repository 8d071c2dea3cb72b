package flow

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/crdeval/crdeval/server/call"
)

// compute takes so much time of a seat, with checkpoints.
func compute(ctx context.Context, w *Work, d time.Duration) time.Duration {
	const step = 50 * time.Microsecond
	var done time.Duration
	for ; done < d && ctx.Err() == nil; done += step {
		time.Sleep(step)
		w.checkpoint()
	}
	return done
}

// load runs items of so much time in a flow until ctx ends, one at a time. It returns the number of items.
func load(ctx context.Context, s *Scheduler, k call.Flow, item time.Duration) (items int) {
	w := s.Start(call.With(ctx, &call.Call{Flow: k}))
	defer w.Close()
	for ctx.Err() == nil {
		_ = w.Item(func(ctx context.Context) error {
			compute(ctx, w, item)
			return nil
		})
		w.release()
		items++
	}
	return items
}

// TestShares checks that a tenant has its share beside another with many flows.
func TestShares(t *testing.T) {
	for _, c := range []struct{ seats, flows, perFlow int }{{1, 1, 1}, {1, 1, 300}, {2, 1, 16}, {2, 300, 1}, {8, 20, 3}} {
		synctest.Test(t, func(t *testing.T) {
			s := New(Options{Seats: c.seats})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			for i := range c.flows {
				for range c.perFlow {
					go load(ctx, s, call.Flow{Tenant: "heavy", Name: fmt.Sprint(i)}, 100*time.Millisecond)
				}
			}
			for range c.seats - 1 {
				go load(ctx, s, call.Flow{Tenant: "light", Name: ""}, time.Millisecond)
			}
			n := load(ctx, s, call.Flow{Tenant: "light", Name: ""}, time.Millisecond)
			if n < 400 || n > 1001 {
				t.Errorf("%d seats, %d flows of %d: %d items of 1 ms in 1 s", c.seats, c.flows, c.perFlow, n)
			}
			if st := s.Stats(); st.Running > c.seats {
				t.Errorf("%+v", st)
			}
			time.Sleep(time.Millisecond)
			if st := s.Stats(); st.Running != 0 || st.Waiting != 0 || st.Waited == 0 {
				t.Errorf("%+v", st)
			}
		})
	}
}

// TestNewcomer checks that new work waits for about a slice, and that an idle flow saves no credit.
func TestNewcomer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Seats: 1})
		ctx, cancel := context.WithCancel(t.Context())
		go load(ctx, s, call.Flow{Tenant: "a", Name: ""}, time.Hour)
		time.Sleep(time.Minute)
		start := time.Now()
		w := s.Start(call.With(ctx, &call.Call{Flow: call.Flow{Tenant: "b", Name: ""}}))
		_ = w.Item(func(ctx context.Context) error {
			if d := time.Since(start); d > 2*slice {
				t.Errorf("waited %v", d)
			}
			compute(ctx, w, 10*time.Millisecond)
			if d := time.Since(start); d < 19*time.Millisecond || d > 22*time.Millisecond {
				t.Errorf("10 ms took %v", d)
			}
			return nil
		})
		w.Close()
		cancel()
		time.Sleep(time.Millisecond)
	})
}

// TestItemTime checks that the time with a seat is bounded, and not the time without.
func TestItemTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Seats: 1, MaxItemTime: time.Second})
		ctx, cancel := context.WithCancel(t.Context())
		go load(ctx, s, call.Flow{Tenant: "a", Name: ""}, 10*time.Second)
		start := time.Now()
		w := s.Start(call.With(ctx, &call.Call{Flow: call.Flow{Tenant: "b", Name: ""}}))
		item := func(d time.Duration) error {
			return w.Item(func(ctx context.Context) error { compute(ctx, w, d); return context.Cause(ctx) })
		}
		if err := item(900 * time.Millisecond); err != nil || time.Since(start) < 1700*time.Millisecond {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		var late *ItemTimeError
		if err := item(2 * time.Second); !errors.As(err, &late) || late.Limit != time.Second || time.Since(start) > 5*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		if err := item(time.Millisecond); err != nil {
			t.Error(err)
		}
		w.Close()
		cancel()
		time.Sleep(time.Millisecond)
	})
}

// TestItemTimeBesideProcesses checks that time counts only as far as the process has used CPU time.
func TestItemTimeBesideProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		cpuTime := func() time.Duration { return time.Since(begin) / 10 } // other processes have nine of ten processors
		s := New(Options{Seats: 1, MaxItemTime: time.Second, CPUTime: cpuTime})
		item := func(d time.Duration) error {
			return s.Run(t.Context(), func(ctx context.Context) error {
				compute(ctx, workOf(ctx), d)
				return context.Cause(ctx)
			})
		}
		if err := item(8 * time.Second); err != nil {
			t.Errorf("after 0.8 s of CPU time: %v", err)
		}
		var late *ItemTimeError
		start := time.Now()
		if err := item(time.Hour); !errors.As(err, &late) || time.Since(start) < 9*time.Second || time.Since(start) > 11*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		time.Sleep(time.Second)
	})
}

// TestDoTime checks that the time of a compilation is bounded by a multiple of that of an item.
func TestDoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Seats: 1, MaxItemTime: time.Second})
		do := func(d time.Duration) error {
			return s.Do(t.Context(), func(ctx context.Context) error {
				compute(ctx, workOf(ctx), d)
				return context.Cause(ctx)
			})
		}
		if err := do(compilationItems*time.Second - time.Second); err != nil {
			t.Error(err)
		}
		start := time.Now()
		var late *ItemTimeError
		if err := do(time.Hour); !errors.As(err, &late) || late.Limit != compilationItems*time.Second || time.Since(start) > 2*late.Limit {
			t.Errorf("after %v: %v", time.Since(start), err)
		} else if text := err.Error(); !strings.Contains(text, "12s") || !strings.Contains(text, "--max-item-time") {
			t.Error(text)
		}
		time.Sleep(time.Second)
	})
}

// TestWait checks that work gives its seat back while it waits for something else.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Seats: 1})
		if err := s.Run(t.Context(), func(ctx context.Context) error {
			Wait(ctx, func() {
				if err := s.Run(t.Context(), func(context.Context) error { return nil }); err != nil {
					t.Error(err)
				}
			})
			if n := s.Stats().Running; n != 1 {
				t.Errorf("%d run", n)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
		Wait(t.Context(), func() {})
	})
}

// TestCancelled checks that waiting ends with the context.
func TestCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Seats: 1})
		_ = s.Run(t.Context(), func(context.Context) error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := s.Run(ctx, func(context.Context) error { t.Error("ran"); return nil }); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
			return nil
		})
		if st := s.Stats(); st.Running+st.Waiting != 0 || st.Waited != time.Second {
			t.Errorf("%+v", st)
		}
	})
}

// TestLong checks that long work never holds all seats, and that abandoned work keeps its seat until it ends.
func TestLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Seats: 2})
		a := s.Start(call.With(t.Context(), &call.Call{Flow: call.Flow{Tenant: "a", Name: ""}}))
		var end func()
		_ = a.Item(func(context.Context) error {
			var abandon func()
			abandon, end = a.background()
			abandon()
			return nil
		})
		a.Close()
		if n := s.Stats().Running; n != 1 {
			t.Errorf("%d run", n)
		}
		began := make(chan struct{})
		go func() {
			_ = s.Do(call.With(t.Context(), &call.Call{Flow: call.Flow{Tenant: "b", Name: ""}}), func(ctx context.Context) error {
				_, end := workOf(ctx).background()
				close(began)
				end()
				return nil
			})
		}()
		go func() {
			time.Sleep(time.Second)
			end()
		}()
		if err := s.Run(t.Context(), func(context.Context) error { return nil }); err != nil {
			t.Error(err)
		}
		select {
		case <-began:
			t.Error("long work has all seats")
		default:
		}
		<-began
		synctest.Wait()
		if st := s.Stats(); st.Running+st.Waiting != 0 || st.Waited != time.Second {
			t.Errorf("%+v", st)
		}
	})
}

func workOf(ctx context.Context) *Work { return ctx.Value(workKey{}).(*Work) }

// TestBackground checks that an item becomes long work only for its background work.
func TestBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Seats: 2})
		item := func(k string, d time.Duration) {
			w := s.Start(call.With(t.Context(), &call.Call{Flow: call.Flow{Tenant: k, Name: ""}}))
			defer w.Close()
			_ = w.Item(func(ctx context.Context) error {
				abandon, end := w.background()
				time.Sleep(d)
				end()
				abandon()
				compute(ctx, w, d)
				return nil
			})
		}
		start := time.Now()
		var both sync.WaitGroup
		both.Go(func() { item("a", time.Second) })
		both.Go(func() { item("b", time.Second) })
		both.Wait()
		if d := time.Since(start); d != 3*time.Second { // the background work of one after that of the other
			t.Errorf("%v", d)
		}
		if st := s.Stats(); st.Running+st.Waiting+s.long != 0 {
			t.Errorf("%+v, %d long", st, s.long)
		}
	})
}

func BenchmarkRun(b *testing.B) {
	s := New(Options{MaxItemTime: time.Second})
	ctx := call.With(b.Context(), &call.Call{Flow: call.Flow{Tenant: "tenant", Name: "flow"}})
	b.ReportAllocs()
	for b.Loop() {
		_ = s.Run(ctx, func(context.Context) error { return nil })
	}
}

func BenchmarkItem(b *testing.B) {
	s := New(Options{MaxItemTime: time.Second})
	w := s.Start(call.With(b.Context(), &call.Call{Flow: call.Flow{Tenant: "tenant", Name: "flow"}}))
	defer w.Close()
	b.ReportAllocs()
	for b.Loop() {
		_ = w.Item(func(context.Context) error { return nil })
	}
}

// TestItemAfterAbandonedCheckpoint: an item ends by its own timeout while a goroutine of it waits for a seat. The next item
// runs.
func TestItemAfterAbandonedCheckpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Seats: 1})
		a := s.Start(call.With(t.Context(), &call.Call{Flow: call.Flow{Tenant: "a", Name: ""}}))
		var bg sync.WaitGroup
		_ = a.Item(func(ctx context.Context) error {
			time.Sleep(5 * time.Millisecond)
			ctx, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
			defer cancel()
			go func() {
				_ = s.Do(call.With(t.Context(), &call.Call{Flow: call.Flow{Tenant: "b", Name: ""}}), func(context.Context) error {
					time.Sleep(50 * time.Millisecond)
					return nil
				})
			}()
			synctest.Wait()
			time.Sleep(time.Millisecond)
			bg.Go(func() { a.checkpoint() })
			<-ctx.Done()
			return ctx.Err()
		})
		done := make(chan struct{})
		go func() {
			_ = a.Item(func(context.Context) error { return nil })
			close(done)
		}()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Error("the next item never runs")
		}
		bg.Wait()
		<-done
		a.Close()
		if st := s.Stats(); st.Running+st.Waiting != 0 {
			t.Errorf("%+v", st)
		}
	})
}
