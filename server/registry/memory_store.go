package registry

import (
	"context"
	"crypto/rand"
	"maps"
	"slices"
	"strings"
	"sync"
)

// MemoryStore is a Store in memory, for tests, experiments, and sidecars that load CRDs at start. Each MemoryStore has a
// new ID, so that tokens of an earlier process are rejected.
type MemoryStore struct {
	id string

	mu       sync.RWMutex
	closed   bool
	sequence uint64
	entries  map[string]Entry
}

var _ Store = (*MemoryStore)(nil)

// NewMemoryStore returns an empty store.
func NewMemoryStore() *MemoryStore {
	return &MemoryStore{id: rand.Text(), entries: map[string]Entry{}}
}

// ID implements Store.
func (s *MemoryStore) ID() string { return s.id }

// Load implements Store.
func (s *MemoryStore) Load(ctx context.Context) (State, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return State{}, ErrClosed
	}
	state := State{Sequence: s.sequence, Entries: make([]Entry, 0, len(s.entries))}
	for _, key := range slices.Sorted(maps.Keys(s.entries)) {
		state.Entries = append(state.Entries, s.entries[key])
	}
	return state, ctx.Err()
}

// Commit implements Store. The entries live as long as the process.
func (s *MemoryStore) Commit(ctx context.Context, t Transaction) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, ErrClosed
	}
	for _, e := range t.Expect {
		if s.entries[e.Key].Version != e.Version {
			return 0, ErrConflict
		}
	}
	s.sequence++
	for _, e := range t.Put {
		s.entries[e.Key] = Entry{Key: e.Key, Value: slices.Clone(e.Value), Version: s.sequence}
	}
	for _, key := range t.Delete {
		delete(s.entries, key)
	}
	for _, prefix := range t.DeletePrefix {
		maps.DeleteFunc(s.entries, func(key string, _ Entry) bool { return strings.HasPrefix(key, prefix) })
	}
	return s.sequence, nil
}

// Close implements Store.
func (s *MemoryStore) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}
