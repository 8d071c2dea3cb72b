// Package storetest is what every registry.Store must pass, and every registry.Watcher beyond that.
package storetest

import (
	"fmt"
	"testing"

	"github.com/crdeval/crdeval/server/registry"
)

// Fixture is one empty store, and what can be done to it.
type Fixture struct {
	Store registry.Store
	// Reopen closes the store and opens its contents again, as a restart of the process does; nil for a store that
	// forgets.
	Reopen func() (registry.Store, error)
	// Another opens the contents once more beside Store, as another replica does; nil for a store of one process.
	Another func() registry.Store
	// Bounced restarts the server behind the store, which goes on with the contents it had; nil if there is none.
	Bounced func()
	// Compacted makes the server forget past commits; nil if there is none.
	Compacted func()
	// Damages are ways to damage the contents of a closed store. After each, opening or loading it is an error with
	// Says in it.
	Damages []Damage
}

// Damage is one way to damage a store's contents.
type Damage struct {
	Name string
	Do   func(t *testing.T)
	Says string // names what to do, or where
}

type test struct {
	name string
	test func(*testing.T, Fixture)
}

// Run runs all tests, each on a store of its own.
func Run(t *testing.T, open func(*testing.T) Fixture) {
	for _, tests := range [][]test{contents, concurrency, restarts, watching} {
		for _, tc := range tests {
			t.Run(tc.name, func(t *testing.T) {
				f := open(t)
				t.Cleanup(func() { _ = f.Store.Close() })
				tc.test(t, f)
			})
		}
	}
	damaged(t, open)
}

func put(key, value string) registry.Entry { return registry.Entry{Key: key, Value: []byte(value)} }

func commit(t *testing.T, s registry.Store, tx registry.Transaction) uint64 {
	t.Helper()
	sequence, err := s.Commit(t.Context(), tx)
	if err != nil {
		t.Fatalf("commit: %v", err)
	}
	return sequence
}

func load(t *testing.T, s registry.Store) registry.State {
	t.Helper()
	state, err := s.Load(t.Context())
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	return state
}

// expect compares the contents with pairs of key=value@version.
func expect(t *testing.T, s registry.Store, sequence uint64, want ...string) {
	t.Helper()
	state := load(t, s)
	if got := describe(state.Entries); fmt.Sprint(got) != fmt.Sprint(want) || state.Sequence != sequence {
		t.Errorf("contents %v at %d, want %v at %d", got, state.Sequence, want, sequence)
	}
}

func describe(entries []registry.Entry) []string {
	var out []string
	for _, e := range entries {
		out = append(out, fmt.Sprintf("%s=%s@%d", e.Key, e.Value, e.Version))
	}
	return out
}
