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

// What waits for its turn to be judged ends with its caller, and those that come later have theirs. Long manifests
// stand in a line of their own.
func TestCompileSlots(t *testing.T) {
	r := newRegistry(t, newMapStore(), nil)
	for range cap(r.compiling) {
		r.compiling <- struct{}{}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := r.Check(ctx, "default", crontabs(10), ""); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Check: %v", err)
	}
	if _, err := r.Register(ctx, "default", crontabs(10), Precondition{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Register: %v", err)
	}
	_, err := r.Check(t.Context(), "never", crontabs(10), "")
	wantReason(t, err, CatalogNotFound) // without waiting for a slot

	long := crontabs(10)
	long.YAML = append(long.YAML, ("\n#" + strings.Repeat(" ", longManifest))...)
	if done, err := r.Check(t.Context(), "default", long, ""); err != nil || !done.Report.Accepted {
		t.Errorf("long: %+v, %v", done, err)
	}
	heavy := engine.YAML([]byte(strings.Replace(string(crontabs(10).YAML), "type: object", `type: object
        x-kubernetes-validations: [{rule: "`+strings.Repeat("[", 120)+strings.Repeat("]", 120)+`.size() > 0"}]`, 1)))
	for range cap(r.compilingLong) {
		r.compilingLong <- struct{}{}
	}
	soon, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer stop()
	if _, err := r.Check(soon, "default", long, ""); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("long: %v", err)
	}

	<-r.compiling
	later, end := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer end()
	if _, err := r.Check(later, "default", heavy, ""); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("heavy rules: %v", err)
	}
	<-r.compilingLong
	if done, err := r.Check(t.Context(), "default", heavy, ""); err != nil || done.Report.Rejection != nil {
		t.Errorf("heavy rules: %+v, %v", done, err)
	}
	for range 2 { // a place that was taken is given back
		if done, err := r.Check(t.Context(), "default", crontabs(10), ""); err != nil || !done.Report.Accepted {
			t.Errorf("%+v, %v", done, err)
		}
	}
}
