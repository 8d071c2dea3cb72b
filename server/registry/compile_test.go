package registry

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/crdeval/crdeval/cache"
	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/host"
	"github.com/crdeval/crdeval/server/call"
	"github.com/crdeval/crdeval/server/flow"
)

// A cache with no room at all still serves.
func TestTinyCache(t *testing.T) {
	programs := cache.New(cache.Options[string, *engine.Definition]{MaxBytes: 1, Weigh: (*engine.Definition).Size})
	defer func() { _ = programs.Close(context.Background()) }()
	r, err := New(t.Context(), newTestStore(), Options{Programs: programs})
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
	r := newRegistry(t, newTestStore(), nil)
	r.Scheduler = flow.New(flow.Options{Seats: 1})
	expired, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_ = r.Scheduler.Do(t.Context(), func(context.Context) error {
		if _, err := r.Check(expired, "default", Submission{Manifest: crontabs(10)}, ""); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Check: %v", err)
		}
		if _, err := r.Register(expired, "default", crontabs(10), Precondition{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Register: %v", err)
		}
		_, err := r.Check(t.Context(), "never", Submission{Manifest: crontabs(10)}, "")
		wantReason(t, err, CatalogNotFound) // without waiting for a seat
		return nil
	})
	if done, err := r.Check(t.Context(), "default", Submission{Manifest: crontabs(10)}, ""); err != nil || !done.Report.Accepted {
		t.Errorf("%+v, %v", done, err)
	}
}

// manyRules returns a CRD with 201 rules, whose compilation takes more than two megabytes.
func manyRules(last string) engine.Document {
	return engine.JSON([]byte(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"as.example.com"},
		"spec":{"group":"example.com","scope":"Cluster","names":{"plural":"as","kind":"A"},"versions":[{"name":"v1","served":true,"storage":true,
		"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-validations":[` + strings.Repeat(`{"rule":"true"},`, 200) + `{"rule":"` + last + `"}]}}}]}}`))
}

// compileObserver calls a function when a version was compiled.
type compileObserver struct {
	host.Observer
	compiled func()
}

func (o compileObserver) Compiled(context.Context, host.CompileEvent) { o.compiled() }

// TestRecompilationMemory checks that a caller that makes the cache compile revisions again is charged for each
// compilation, also if the call ends before the compilation.
func TestRecompilationMemory(t *testing.T) {
	var memory *call.Memory
	var tree []int64
	started := func() {}
	programs := cache.New(cache.Options[string, *engine.Definition]{MaxBytes: 1, Weigh: func(*engine.Definition) int64 { return 1 }})
	defer func() { _ = programs.Close(context.Background()) }()
	r, err := New(t.Context(), newTestStore(), Options{Programs: programs, Engine: engine.Options{
		Observer: compileObserver{compiled: func() {
			if started(); memory != nil {
				tree = append(tree, memory.Stats().Bytes[call.Tree])
			}
		}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	var revisions []string
	for _, last := range []string{"true", "self == self"} {
		done, err := r.Register(t.Context(), DefaultCatalog, manyRules(last), Precondition{})
		if err != nil {
			t.Fatal(err)
		}
		revisions = append(revisions, done.CRD.Revision)
	}
	v, err := r.View(t.Context(), DefaultCatalog, "")
	if err != nil {
		t.Fatal(err)
	}
	compile := func(ctx context.Context, i int) error {
		lease := memory.Open("mallory")
		defer lease.Release()
		_, err := v.Named(call.With(ctx, &call.Call{Lease: lease}), "as.example.com", revisions[i%2])
		return err
	}
	memory = call.NewMemory(32 << 20)
	for i := range 6 {
		if err := compile(t.Context(), i); err != nil {
			t.Fatal(err)
		}
	}
	if len(tree) != 6 || slices.Min(tree) < 2<<20 {
		t.Errorf("charged %v", tree)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	started = func() { cancel(); <-ended }
	if err := compile(ctx, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that ends: %v", err)
	}
	close(ended)
	started = func() {}
	if err := compile(t.Context(), 0); err != nil { // waits for the same compilation
		t.Error(err)
	}
	if len(tree) != 7 || tree[6] < 2<<20 {
		t.Errorf("charged %v after the call has ended", tree)
	}
	if s := memory.Stats(); s.Bytes != (call.MemoryStats{}).Bytes {
		t.Errorf("held at the end: %+v", s)
	}
	memory = call.NewMemory(2 << 20)
	if err := compile(t.Context(), 1); !errors.Is(err, call.ErrTooLarge) {
		t.Errorf("a limit that is too small: %v", err)
	}
}

// TestBuildOfOtherCaller checks that a caller compiles a revision itself if the caller that compiled it lacked memory.
func TestBuildOfOtherCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(t, newTestStore(), nil)
		done, err := r.Register(t.Context(), DefaultCatalog, manyRules("true"), Precondition{})
		if err != nil {
			t.Fatal(err)
		}
		r.Programs.Remove(done.CRD.Revision)
		v, err := r.View(t.Context(), DefaultCatalog, "")
		if err != nil {
			t.Fatal(err)
		}
		full, free := call.NewMemory(16<<20), call.NewMemory(32<<20)
		if err := full.Open("mallory").TryGrow(call.Response, 7<<20); err != nil {
			t.Fatal(err)
		}
		compile := func(memory *call.Memory) error {
			lease := memory.Open("mallory")
			defer lease.Release()
			_, err := v.Named(call.With(t.Context(), &call.Call{Lease: lease}), "as.example.com", "")
			return err
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := compile(full); !errors.Is(err, call.ErrNoMemory) {
				t.Errorf("without memory: %v", err)
			}
		})
		synctest.Wait()
		wg.Go(func() {
			if err := compile(free); err != nil {
				t.Errorf("with memory: %v", err)
			}
		})
		wg.Wait()
	})
}

// TestCompilationMemory checks that a compilation waits while other calls hold the memory that it needs, and that one
// that can never fit is rejected.
func TestCompilationMemory(t *testing.T) {
	manifest := manyRules("true")
	r := newRegistry(t, newTestStore(), nil)
	r.Scheduler = flow.New(flow.Options{Seats: 1})
	memory := call.NewMemory(10 << 20)
	check := func() error {
		lease := memory.Open("mallory")
		defer lease.Release()
		done, err := r.Check(call.With(t.Context(), &call.Call{Lease: lease}), "default", Submission{Manifest: manifest}, "")
		if err == nil && done.Outcome != Created {
			t.Errorf("%+v", done)
		}
		return err
	}
	other := memory.Open("mallory")
	if err := other.TryGrow(call.Response, 4<<20); err != nil {
		t.Fatal(err)
	}
	waiting := make(chan error)
	go func() { waiting <- check() }()
	for memory.Stats().Rejected == 0 {
		runtime.Gosched()
	}
	_ = r.Scheduler.Do(t.Context(), func(context.Context) error { return nil }) // it waits without the seat
	other.Release()
	if err := <-waiting; err != nil {
		t.Error(err)
	}
	if s := memory.Stats(); s.Bytes != (call.MemoryStats{}).Bytes {
		t.Errorf("%+v", s)
	}
	memory = call.NewMemory(2 << 20)
	if err := check(); !errors.Is(err, call.ErrTooLarge) {
		t.Errorf("a manifest that never fits: %v", err)
	}
}

// TestReportMemory: the reports of rejected CRDs are charged to the lease of a call. CRDs whose report has no memory left
// get an error.
func TestReportMemory(t *testing.T) {
	types := strings.Repeat(`{"type":"unknown"},`, 500)
	manifest := engine.JSON([]byte(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"as.example.com"},
		"spec":{"group":"example.com","scope":"Cluster","names":{"plural":"as","kind":"A"},"versions":[{"name":"v1","served":true,"storage":true,
		"schema":{"openAPIV3Schema":{"type":"object","allOf":[` + types + `{"type":"unknown"}]}}}]}}`))
	r := newRegistry(t, newTestStore(), nil)
	memory := call.NewMemory(32 << 20)
	lease := memory.Open("mallory")
	done, _, err := r.RegisterAll(call.With(t.Context(), &call.Call{Lease: lease}), "default", slices.Repeat([]Submission{{Manifest: manifest}}, 100))
	if err != nil {
		t.Fatal(err)
	}
	reports, failed := int64(0), 0
	for _, d := range done {
		switch {
		case d.Err == nil:
			reports += reportMemory(d.Registration.Report)
		case !errors.Is(d.Err, call.ErrNoMemory) && !errors.Is(d.Err, call.ErrTooLarge) || d.Registration.Report != nil:
			t.Errorf("%+v", d)
		default:
			failed++
		}
	}
	if held := memory.Stats().Bytes[call.Response]; held != reports || reports < 500*violationMemory || failed == 0 {
		t.Errorf("%d bytes are held for reports of %d bytes; %d CRDs failed", held, reports, failed)
	}
	lease.Release()
}
