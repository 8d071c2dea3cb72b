package registry

import (
	"context"
	"errors"
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

// TestCompilationsTakeTurns checks that compilations wait for a seat of the scheduler.
func TestCompilationsTakeTurns(t *testing.T) {
	r := newRegistry(t, newMapStore(), nil)
	r.Scheduler = flow.New(flow.Options{Seats: 1})
	expired, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_ = r.Scheduler.Do(t.Context(), func(context.Context) error {
		if _, err := r.Check(expired, "default", crontabs(10), ""); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Check: %v", err)
		}
		if _, err := r.Register(expired, "default", crontabs(10), Precondition{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Register: %v", err)
		}
		_, err := r.Check(t.Context(), "never", crontabs(10), "")
		wantReason(t, err, CatalogNotFound) // without waiting for a seat
		return nil
	})
	if done, err := r.Check(t.Context(), "default", crontabs(10), ""); err != nil || !done.Report.Accepted {
		t.Errorf("%+v, %v", done, err)
	}
}
