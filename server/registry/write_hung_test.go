package registry

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// hungStore is a testStore that does not answer until released is closed. Commits happen then, also those of callers
// that no longer wait.
type hungStore struct {
	*testStore
	released      chan struct{} // nil: it answers
	ignoreContext bool
	pending       sync.WaitGroup
}

func (s *hungStore) wait(ctx context.Context) error {
	if s.released == nil {
		return nil
	}
	if s.ignoreContext {
		ctx = context.Background()
	}
	select {
	case <-s.released:
		return nil
	case <-ctx.Done():
		return &Failure{Public: "its disk did not answer in time", Err: context.Cause(ctx)}
	}
}

func (s *hungStore) Load(ctx context.Context) (State, error) {
	if err := s.wait(ctx); err != nil {
		return State{}, err
	}
	s.pending.Wait()
	return s.testStore.Load(ctx)
}

func (s *hungStore) Commit(ctx context.Context, t Transaction) (sequence uint64, err error) {
	done := make(chan struct{})
	s.pending.Go(func() {
		_ = s.wait(context.Background())
		sequence, err = s.testStore.Commit(ctx, t)
		close(done)
	})
	if err := s.wait(ctx); err != nil {
		return 0, err
	}
	<-done
	return sequence, err
}

// A commit of which the store does not report the outcome fails in time, and so do the writes that wait for it. When
// the store answers again, what it has is served without a further write.
func TestHungStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &hungStore{testStore: newTestStore()}
		r := newRegistry(t, store, nil)
		store.released = make(chan struct{})
		start := time.Now()
		var writes sync.WaitGroup
		writes.Go(func() {
			_, err := register(t, r, "default", foos("1"), Precondition{})
			wantReason(t, err, StoreUnavailable)
			if got := outcomeOf(err); got != "unknown" {
				t.Errorf("outcome %q: %v", got, err)
			}
		})
		synctest.Wait()
		for range 5 {
			writes.Go(func() {
				_, _, err := r.CreateCatalog(t.Context(), "other", "")
				wantReason(t, err, StoreUnavailable)
				if got := outcomeOf(err); got != "" {
					t.Errorf("a write that was not tried has outcome %q: %v", got, err)
				}
			})
		}
		writes.Wait()
		if took := time.Since(start); took > r.MaxWrite {
			t.Errorf("the writes failed after %v", took)
		}
		if r.Counts().CRDs != 0 {
			t.Error("a CRD is served that the store may not have")
		}
		close(store.released)
		synctest.Wait()
		if d, err := r.CRD(t.Context(), "default", "foos.g.io", "", ""); err != nil || d.Revision != "sha256:1" {
			t.Errorf("after the store answered: %+v, %v", d, err)
		}
		mustRegister(t, r, "default", foos("2"))
	})
}

// Writes do not wait forever for a write in a store that ignores its context.
func TestStoreThatIgnoresItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &hungStore{testStore: newTestStore(), ignoreContext: true}
		r := newRegistry(t, store, nil)
		store.released = make(chan struct{})
		var first sync.WaitGroup
		first.Go(func() { mustRegister(t, r, "default", foos("1")) })
		synctest.Wait()
		_, _, err := r.CreateCatalog(t.Context(), "other", "")
		wantReason(t, err, StoreUnavailable)
		close(store.released)
		first.Wait()
		if r.Counts().CRDs != 1 {
			t.Error("the first write is lost")
		}
	})
}

// Close waits for a store that does not answer as long as its context allows.
func TestCloseBesideHungStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &hungStore{testStore: newTestStore()}
		r := newRegistry(t, store, nil)
		store.released = make(chan struct{})
		_, err := register(t, r, "default", foos("1"), Precondition{})
		wantReason(t, err, StoreUnavailable)
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
		close(store.released)
	})
}

func outcomeOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Metadata["outcome"]
	}
	return ""
}
