// Package storetest is what every registry.Store must pass.
package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/crdeval/crdeval/server/registry"
)

// Fixture is one empty store.
type Fixture struct {
	Store registry.Store
	// Reopen closes the store and opens its contents again, as a restart does; nil for a store that forgets.
	Reopen func() registry.Store
}

// Run runs all tests, each on a store of its own.
func Run(t *testing.T, open func(*testing.T) Fixture) {
	for _, tc := range []struct {
		name string
		test func(*testing.T, Fixture)
	}{
		{"empty", empty},
		{"put, replace, delete", putReplaceDelete},
		{"delete by prefix", deletePrefix},
		{"expectations", expectations},
		{"all or nothing", allOrNothing},
		{"large and odd entries", largeAndOdd},
		{"the caller's bytes", callersBytes},
		{"many writers", manyWriters},
		{"reopen", reopen},
		{"cancelled", cancelled},
		{"closed", closed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := open(t)
			t.Cleanup(func() { _ = f.Store.Close() })
			tc.test(t, f)
		})
	}
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

// expect compares the contents with pairs of key=value@version.
func expect(t *testing.T, s registry.Store, sequence uint64, want ...string) {
	t.Helper()
	state, err := s.Load(t.Context())
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	var got []string
	for _, e := range state.Entries {
		got = append(got, fmt.Sprintf("%s=%s@%d", e.Key, e.Value, e.Version))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) || state.Sequence != sequence {
		t.Errorf("contents %v at %d, want %v at %d", got, state.Sequence, want, sequence)
	}
}

func empty(t *testing.T, f Fixture) {
	if f.Store.ID() == "" {
		t.Error("no ID")
	}
	expect(t, f.Store, 0)
}

func putReplaceDelete(t *testing.T, f Fixture) {
	one := commit(t, f.Store, registry.Transaction{Put: []registry.Entry{put("b", "1"), put("a/x", "2")}})
	expect(t, f.Store, one, fmt.Sprintf("a/x=2@%d", one), fmt.Sprintf("b=1@%d", one))
	two := commit(t, f.Store, registry.Transaction{Put: []registry.Entry{put("b", "3"), put("c", "")}})
	if two <= one {
		t.Errorf("sequence %d after %d", two, one)
	}
	expect(t, f.Store, two, fmt.Sprintf("a/x=2@%d", one), fmt.Sprintf("b=3@%d", two), fmt.Sprintf("c=@%d", two))
	three := commit(t, f.Store, registry.Transaction{Delete: []string{"a/x", "c", "never there"}})
	expect(t, f.Store, three, fmt.Sprintf("b=3@%d", two))
}

func expectations(t *testing.T, f Fixture) {
	one := commit(t, f.Store, registry.Transaction{Expect: []registry.Expectation{{Key: "a"}}, Put: []registry.Entry{put("a", "1")}})
	for _, tc := range []struct {
		name string
		want []registry.Expectation
		ok   bool
	}{
		{"absent, but it is there", []registry.Expectation{{Key: "a"}}, false},
		{"another version", []registry.Expectation{{Key: "a", Version: one + 1}}, false},
		{"there, but it is absent", []registry.Expectation{{Key: "b", Version: one}}, false},
		{"one of two", []registry.Expectation{{Key: "a", Version: one}, {Key: "b", Version: one}}, false},
		{"both", []registry.Expectation{{Key: "a", Version: one}, {Key: "b"}}, true},
	} {
		_, err := f.Store.Commit(t.Context(), registry.Transaction{Expect: tc.want, Put: []registry.Entry{put("c", tc.name)}})
		if tc.ok && err != nil || !tc.ok && !errors.Is(err, registry.ErrConflict) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
	// A key that was deleted is absent again.
	two := commit(t, f.Store, registry.Transaction{Delete: []string{"a", "c"}})
	three := commit(t, f.Store, registry.Transaction{Expect: []registry.Expectation{{Key: "a"}}, Put: []registry.Entry{put("a", "2")}})
	if three <= two {
		t.Errorf("sequence %d after %d", three, two)
	}
	expect(t, f.Store, three, fmt.Sprintf("a=2@%d", three))
}

func deletePrefix(t *testing.T, f Fixture) {
	var tx registry.Transaction
	for _, key := range []string{"a", "a/", "a/b", "a/b/c", "a0", "a.", "b/\xff", "b/\xff\xff", "c"} {
		tx.Put = append(tx.Put, put(key, "1"))
	}
	one := commit(t, f.Store, tx)
	// Put and deleted by prefix in one commit; an expectation about a key that goes; prefixes that overlap, that nothing has, that end in the last byte there is.
	two := commit(t, f.Store, registry.Transaction{
		Expect:       []registry.Expectation{{Key: "a/b", Version: one}},
		Put:          []registry.Entry{put("a1", "2")},
		Delete:       []string{"a/b", "c"},
		DeletePrefix: []string{"a/", "a/b", "nothing/", "b/\xff"},
	})
	left := []string{fmt.Sprintf("a=1@%d", one), fmt.Sprintf("a.=1@%d", one), fmt.Sprintf("a0=1@%d", one), fmt.Sprintf("a1=2@%d", two)}
	expect(t, f.Store, two, left...)
	// Not if an expectation fails.
	_, err := f.Store.Commit(t.Context(), registry.Transaction{Expect: []registry.Expectation{{Key: "a/b", Version: one}}, DeletePrefix: []string{"a"}})
	if !errors.Is(err, registry.ErrConflict) {
		t.Errorf("got %v", err)
	}
	expect(t, f.Store, two, left...)
	// Many, over many pages of a file.
	for i := range 20 {
		tx = registry.Transaction{}
		for j := range 50 {
			tx.Put = append(tx.Put, registry.Entry{Key: fmt.Sprintf("many/%02d/%02d", i, j), Value: bytes.Repeat([]byte{'x'}, 500)})
		}
		commit(t, f.Store, tx)
	}
	three := commit(t, f.Store, registry.Transaction{DeletePrefix: []string{"many/"}})
	expect(t, f.Store, three, left...)
}

func allOrNothing(t *testing.T, f Fixture) {
	one := commit(t, f.Store, registry.Transaction{Put: []registry.Entry{put("a", "1")}})
	_, err := f.Store.Commit(t.Context(), registry.Transaction{
		Expect: []registry.Expectation{{Key: "a"}},
		Put:    []registry.Entry{put("a", "2"), put("b", "2")},
		Delete: []string{"a"},
	})
	if !errors.Is(err, registry.ErrConflict) {
		t.Errorf("got %v", err)
	}
	state, err := f.Store.Load(t.Context())
	if err != nil || len(state.Entries) != 1 || string(state.Entries[0].Value) != "1" || state.Entries[0].Version != one {
		t.Errorf("after a conflict: %v, %v", state, err)
	}
}

func largeAndOdd(t *testing.T, f Fixture) {
	large := bytes.Repeat([]byte("0123456789abcdef"), 4<<16) // 4 MiB
	odd := []byte{0, 0xff, '\n', 0}
	tx := registry.Transaction{Put: []registry.Entry{{Key: "large", Value: large}, {Key: "odd/é/\x01", Value: odd}}}
	for i := range 200 {
		tx.Put = append(tx.Put, put(fmt.Sprintf("many/%03d", i), "v"))
	}
	commit(t, f.Store, tx)
	state, err := f.Store.Load(t.Context())
	if err != nil || len(state.Entries) != 202 {
		t.Fatalf("%d entries, %v", len(state.Entries), err)
	}
	if !bytes.Equal(state.Entries[0].Value, large) || !bytes.Equal(state.Entries[201].Value, odd) {
		t.Error("the values came back changed")
	}
}

func callersBytes(t *testing.T, f Fixture) {
	value := []byte("before")
	sequence := commit(t, f.Store, registry.Transaction{Put: []registry.Entry{{Key: "k", Value: value}}})
	copy(value, "after!")
	expect(t, f.Store, sequence, fmt.Sprintf("k=before@%d", sequence))
}

// Writers that all expect the same version: one of each round wins, and the sequences are all different.
func manyWriters(t *testing.T, f Fixture) {
	const writers, rounds = 4, 5
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
				sequence, err := f.Store.Commit(t.Context(), registry.Transaction{
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

func reopen(t *testing.T, f Fixture) {
	if f.Reopen == nil {
		t.Skip("this store forgets")
	}
	id := f.Store.ID()
	one := commit(t, f.Store, registry.Transaction{Put: []registry.Entry{put("a", "1"), put("b", "1")}})
	two := commit(t, f.Store, registry.Transaction{Delete: []string{"b"}})
	s := f.Reopen()
	t.Cleanup(func() { _ = s.Close() })
	if s.ID() != id {
		t.Errorf("ID %s, was %s", s.ID(), id)
	}
	expect(t, s, two, fmt.Sprintf("a=1@%d", one))
	if three := commit(t, s, registry.Transaction{Put: []registry.Entry{put("c", "1")}}); three <= two {
		t.Errorf("sequence %d after %d", three, two)
	}
}

func cancelled(t *testing.T, f Fixture) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Store.Commit(ctx, registry.Transaction{Put: []registry.Entry{put("a", "1")}}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	expect(t, f.Store, 0)
}

func closed(t *testing.T, f Fixture) {
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
