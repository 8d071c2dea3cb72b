// Package memory implements registry.Store in memory, for tests, experiments, and sidecars that load CRDs at start.
package memory

import (
	"context"
	"crypto/rand"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/crdeval/crdeval/server/registry"
)

// Store keeps entries in a map. Each Store has a new ID, so that tokens of an earlier process are rejected.
type Store struct {
	id string

	mu       sync.RWMutex
	closed   bool
	sequence uint64
	entries  map[string]registry.Entry
}

var _ registry.Store = (*Store)(nil)

// New returns an empty store.
func New() *Store { return &Store{id: rand.Text(), entries: map[string]registry.Entry{}} }

// ID implements registry.Store.
func (s *Store) ID() string { return s.id }

// Load implements registry.Store.
func (s *Store) Load(ctx context.Context) (registry.State, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return registry.State{}, registry.ErrClosed
	}
	state := registry.State{Sequence: s.sequence, Entries: make([]registry.Entry, 0, len(s.entries))}
	for _, key := range slices.Sorted(maps.Keys(s.entries)) {
		state.Entries = append(state.Entries, s.entries[key])
	}
	return state, ctx.Err()
}

// Commit implements registry.Store. The entries live as long as the process.
func (s *Store) Commit(ctx context.Context, t registry.Transaction) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, registry.ErrClosed
	}
	for _, e := range t.Expect {
		if s.entries[e.Key].Version != e.Version {
			return 0, registry.ErrConflict
		}
	}
	s.sequence++
	for _, e := range t.Put {
		s.entries[e.Key] = registry.Entry{Key: e.Key, Value: slices.Clone(e.Value), Version: s.sequence}
	}
	for _, key := range t.Delete {
		delete(s.entries, key)
	}
	for _, prefix := range t.DeletePrefix {
		maps.DeleteFunc(s.entries, func(key string, _ registry.Entry) bool { return strings.HasPrefix(key, prefix) })
	}
	return s.sequence, nil
}

// Close implements registry.Store.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}
