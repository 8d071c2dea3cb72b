package storetest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/server/registry"
)

var restarts = []test{
	{"reopen", reopen},
}

var serverRestarts = []test{
	{"the server restarts", serverBounced},
	{"the server is compacted", serverCompacted},
}

func reopen(t *testing.T, f fixture) {
	id := f.Store.ID()
	one := commit(t, f.Store, registry.Transaction{Put: []registry.Entry{put("a", "1"), put("b", "1")}})
	two := commit(t, f.Store, registry.Transaction{Delete: []string{"b"}})
	s, err := f.Reopen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if s.ID() != id {
		t.Errorf("ID %s, was %s", s.ID(), id)
	}
	expect(t, s, two, fmt.Sprintf("a=1@%d", one))
	if three := commit(t, s, registry.Transaction{Put: []registry.Entry{put("c", "1")}}); three <= two {
		t.Errorf("sequence %d after %d", three, two)
	}
}

// The same handle continues to work, and keeps every acknowledged commit.
func serverBounced(t *testing.T, f fixture) {
	one := commit(t, f.Store, registry.Transaction{Put: []registry.Entry{put("a", "1")}})
	f.Bounced()
	expect(t, f.Store, one, fmt.Sprintf("a=1@%d", one))
	two := commit(t, f.Store, registry.Transaction{Expect: []registry.Expectation{{Key: "a", Version: one}}, Put: []registry.Entry{put("a", "2")}})
	expect(t, f.Store, two, fmt.Sprintf("a=2@%d", two))
}

func serverCompacted(t *testing.T, f fixture) {
	var last uint64
	for i := range 10 {
		last = commit(t, f.Store, registry.Transaction{Put: []registry.Entry{put("a", fmt.Sprint(i))}})
	}
	f.Compacted()
	expect(t, f.Store, last, fmt.Sprintf("a=9@%d", last))
	next := commit(t, f.Store, registry.Transaction{Expect: []registry.Expectation{{Key: "a", Version: last}}, Put: []registry.Entry{put("b", "1")}})
	expect(t, f.Store, next, fmt.Sprintf("a=9@%d", last), fmt.Sprintf("b=1@%d", next))
}

// damaged runs every damage of the fixture, each on a new store with some entries. Opening or loading the store must
// fail, and must not return an empty store.
func damaged(t *testing.T, open func(*testing.T) fixture) {
	t.Run("damaged", func(t *testing.T) {
		probe := open(t)
		t.Cleanup(func() { _ = probe.Store.Close() })
		for i, d := range probe.Damages {
			t.Run(d.Name, func(t *testing.T) {
				f := open(t)
				for _, key := range []string{"a", "b", "c"} {
					commit(t, f.Store, registry.Transaction{Put: []registry.Entry{put(key, strings.Repeat(key, 20_000))}})
				}
				if err := f.Store.Close(); err != nil {
					t.Fatal(err)
				}
				f.Damages[i].Do(t)
				s, err := f.Reopen()
				if err == nil {
					t.Cleanup(func() { _ = s.Close() })
					var state registry.State
					if state, err = s.Load(t.Context()); err == nil {
						t.Fatalf("opened and loaded, with %d entries", len(state.Entries))
					}
				}
				if !strings.Contains(err.Error(), f.Damages[i].Says) {
					t.Errorf("the error does not say %q: %v", f.Damages[i].Says, err)
				}
				t.Log(err)
			})
		}
	})
}
