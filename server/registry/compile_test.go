package registry

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/crdeval/crdeval/cache"
	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/server/flow"
)

// A cache with no room at all still serves.
func TestTinyCache(t *testing.T) {
	programs := cache.New(cache.Options[string, *engine.Definition]{MaxBytes: 1, Weigh: (*engine.Definition).Size})
	defer func() { _ = programs.Close(context.Background()) }()
	r, err := New(t.Context(), newMapStore(), Options{Programs: programs})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Register(t.Context(), "default", crontabs(10), Precondition{}); err != nil {
		t.Fatal(err)
	}
	v, err := r.View(t.Context(), "default", "")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if d, err := v.Named(t.Context(), "crontabs.stable.example.com", ""); err != nil || !allowed(t, d) {
				t.Errorf("%v", err)
			}
		})
	}
	wg.Wait()
	if s := programs.Stats(); s.Entries != 0 || s.Oversized == 0 {
		t.Errorf("%+v", s)
	}
}

// TestCompilationsTakeTurns checks that compilations wait for a seat of the scheduler, and long ones for one of half of the
// seats.
func TestCompilationsTakeTurns(t *testing.T) {
	r := newRegistry(t, newMapStore(), nil)
	r.Scheduler = flow.New(flow.Options{Seats: 2})
	long := crontabs(10)
	long.YAML = append(long.YAML, ("\n#" + strings.Repeat(" ", longManifest))...)
	expired := func() context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	mustCheck := func(m engine.Document) {
		t.Helper()
		if done, err := r.Check(t.Context(), "default", m, ""); err != nil || !done.Report.Accepted {
			t.Errorf("%+v, %v", done, err)
		}
	}
	for range 2 {
		_ = r.Scheduler.Do(t.Context(), true, func(context.Context) error {
			if _, err := r.Check(expired(), "default", long, ""); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("long: %v", err)
			}
			mustCheck(crontabs(10))
			return r.Scheduler.Do(t.Context(), false, func(context.Context) error {
				if _, err := r.Check(expired(), "default", crontabs(10), ""); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Check: %v", err)
				}
				if _, err := r.Register(expired(), "default", crontabs(10), Precondition{}); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Register: %v", err)
				}
				_, err := r.Check(t.Context(), "never", crontabs(10), "")
				wantReason(t, err, CatalogNotFound) // without waiting for a seat
				return nil
			})
		})
		mustCheck(long) // the seats are free again
	}
}
