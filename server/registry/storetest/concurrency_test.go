package storetest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/crdeval/crdeval/server/registry"
)

var concurrency = []test{
	{"one of many writers wins", manyWriters},
	{"counting together", counting},
	{"loading beside writers", loading},
	{"cancelled", cancelled},
	{"closed", closed},
	{"closed beside writers", closedBeside},
}

// handles are the ways to the store: several for one that replicas share.
func handles(t *testing.T, f fixture) []registry.Store {
	all := []registry.Store{f.Store}
	if f.Another != nil {
		for range 2 {
			s := f.Another()
			t.Cleanup(func() { _ = s.Close() })
			if s.ID() != f.Store.ID() {
				t.Errorf("IDs %s and %s of one store", s.ID(), f.Store.ID())
			}
			all = append(all, s)
		}
	}
	return all
}

// Writers that all expect the same version: one of each round wins, and the sequences are all different.
func manyWriters(t *testing.T, f fixture) {
	const writers, rounds = 6, 5
	stores := handles(t, f)
	var (
		mu   sync.Mutex
		seen = map[uint64]bool{}
		last uint64
	)
	for range rounds {
		var wg sync.WaitGroup
		var won int
		expected := last
		for w := range writers {
			wg.Go(func() {
				sequence, err := stores[w%len(stores)].Commit(t.Context(), registry.Transaction{
					Expect: []registry.Expectation{{Key: "contended", Version: expected}},
					Put:    []registry.Entry{put("contended", fmt.Sprint(w))},
				})
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					won++
					if seen[sequence] {
						t.Errorf("sequence %d twice", sequence)
					}
					seen[sequence], last = true, sequence
				case !errors.Is(err, registry.ErrConflict):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if won != 1 {
			t.Errorf("%d writers won", won)
		}
	}
}

// Two entries that are only ever written together, by writers that read, add one, and try again when they were
// overtaken: nothing is lost, nothing torn.
func counting(t *testing.T, f fixture) {
	const writers, times = 4, 10
	stores := handles(t, f)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			s := stores[w%len(stores)]
			for done := 0; done < times; {
				state, err := s.Load(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				n, version := 0, uint64(0)
				if len(state.Entries) > 0 {
					if string(state.Entries[0].Value) != string(state.Entries[1].Value) {
						t.Errorf("torn: %v", describe(state.Entries))
					}
					n, _ = strconv.Atoi(string(state.Entries[0].Value))
					version = state.Entries[0].Version
				}
				next := fmt.Sprint(n + 1)
				_, err = s.Commit(t.Context(), registry.Transaction{
					Expect: []registry.Expectation{{Key: "a", Version: version}, {Key: "b", Version: version}},
					Put:    []registry.Entry{put("a", next), put("b", next)},
				})
				switch {
				case err == nil:
					done++
				case !errors.Is(err, registry.ErrConflict):
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	for _, s := range stores {
		if got := load(t, s).Entries; len(got) != 2 || string(got[0].Value) != fmt.Sprint(writers*times) {
			t.Errorf("counted to %v, want %d", describe(got), writers*times)
		}
	}
}

// A Load is of one moment: entries that are written together are seen together, and those deleted together go together.
func loading(t *testing.T, f fixture) {
	const keys, rounds = 100, 15 // more than the first page of a store that reads by pages
	stores := handles(t, f)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer func() { stop(); wg.Wait() }()
	for _, s := range stores {
		wg.Go(func() {
			for ctx.Err() == nil {
				state, err := s.Load(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				if n := len(state.Entries); n != 0 && n != keys {
					t.Errorf("%d of %d entries that belong together", n, keys)
				}
				for _, e := range state.Entries {
					if e.Version > state.Sequence {
						t.Errorf("entry %s of commit %d in a state of %d", e.Key, e.Version, state.Sequence)
					}
				}
			}
		})
	}
	all := registry.Transaction{}
	for i := range keys {
		all.Put = append(all.Put, put(fmt.Sprintf("together/%03d", i), "v"))
	}
	for range rounds {
		commit(t, f.Store, all)
		commit(t, f.Store, registry.Transaction{DeletePrefix: []string{"together/"}})
	}
}

func cancelled(t *testing.T, f fixture) {
	before := load(t, f.Store).Sequence
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Store.Commit(ctx, registry.Transaction{Put: []registry.Entry{put("a", "1")}}); !errors.Is(err, context.Canceled) {
		t.Errorf("commit: %v", err)
	}
	if _, err := f.Store.Load(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("load: %v", err)
	}
	expect(t, f.Store, before)
}

func closed(t *testing.T, f fixture) {
	if err := f.Store.Close(); err != nil {
		t.Error(err)
	}
	if _, err := f.Store.Load(t.Context()); !errors.Is(err, registry.ErrClosed) {
		t.Errorf("load: %v", err)
	}
	if _, err := f.Store.Commit(t.Context(), registry.Transaction{}); !errors.Is(err, registry.ErrClosed) {
		t.Errorf("commit: %v", err)
	}
	if err := f.Store.Close(); err != nil {
		t.Errorf("closing twice: %v", err)
	}
}

// Close does not tear what is under way: it is committed or ErrClosed.
func closedBeside(t *testing.T, f fixture) {
	var wg sync.WaitGroup
	for w := range 3 {
		wg.Go(func() {
			for {
				_, err := f.Store.Commit(t.Context(), registry.Transaction{Put: []registry.Entry{put(fmt.Sprint(w), "v")}})
				if errors.Is(err, registry.ErrClosed) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	commit(t, f.Store, registry.Transaction{Put: []registry.Entry{put("a", "1")}})
	if err := f.Store.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
}
