package registry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/crdeval/crdeval/server/call"
)

// write commits the proposal for the current snapshot, or nothing if it is empty. It
// returns a snapshot that includes the change. It calls propose again if another replica wrote first.
func (r *Registry) write(ctx context.Context, propose func(*snapshot) (proposal, error)) (*snapshot, error) {
	s, p, err := r.commit(ctx, propose)
	if err == nil && p.group != "" {
		r.reconcileGroup(ctx, p.catalog, p.group)
	}
	return s, err
}

// commit is write without the further commits that the proposal needs.
func (r *Registry) commit(ctx context.Context, propose func(*snapshot) (proposal, error)) (
	s *snapshot, p proposal, err error) {
	defer call.Pause(ctx)() // it waits for other writes and for the store
	if err := r.beginWrite(ctx); err != nil {
		return nil, p, err
	}
	defer r.endWrite()
	bounded, cancel := withMargin(ctx, r.MaxWrite)
	defer cancel()
	for {
		if r.stale {
			if err := r.reload(bounded); err != nil {
				return nil, p, r.unavailable(ctx, err, false)
			}
			r.stale = false
		}
		current := r.snapshot.Load()
		if p, err = propose(current); err != nil || p.empty() {
			return current, proposal{}, err
		}
		sequence, err := r.store.Commit(bounded, p.Transaction)
		switch {
		case err == nil:
			r.commits.Add(1)
			s, err := r.committed(bounded, current, p.Transaction, sequence)
			return s, p, err
		case errors.Is(err, ErrConflict):
			if r.stale = r.watcher == nil; !r.stale && !r.await(bounded, current.sequence+1) {
				err := fmt.Errorf("another replica wrote first, and this one has not applied that write yet: %w",
					errors.Join(context.Cause(bounded), r.Following()))
				return nil, p, r.unavailable(ctx, err, false)
			}
		case errors.Is(err, ErrTooLarge):
			return nil, p, tooLarge(err)
		default:
			r.stale = r.watcher == nil && mayBeWritten(err) // a Watcher reports the commit if it was made
			return nil, p, r.unavailable(ctx, err, mayBeWritten(err))
		}
		if bounded.Err() != nil {
			return nil, p, r.unavailable(ctx, ErrConflict, false)
		}
	}
}

// writeLatest is write after all earlier writes of other replicas were applied.
func (r *Registry) writeLatest(ctx context.Context, propose func(*snapshot) (proposal, error)) (*snapshot, error) {
	if err := r.awaitLatest(ctx); err != nil {
		return nil, err
	}
	return r.write(ctx, propose)
}

// writeTo is writeLatest for an existing CRD, if the precondition holds.
func (r *Registry) writeTo(
	ctx context.Context, catalog, name string, p Precondition, propose func(*catalog, *crd) (proposal, error),
) (*snapshot, error) {
	return r.writeLatest(ctx, func(s *snapshot) (proposal, error) {
		c, err := s.catalog(catalog)
		if err != nil {
			return proposal{}, err
		}
		d, err := c.crd(name)
		if err != nil {
			return proposal{}, err
		}
		if err := p.check(c, name); err != nil {
			return proposal{}, err
		}
		return propose(c, d)
	})
}

// beginWrite waits until no other write runs. It gives up when no commit has succeeded for r.MaxWrite: then the store
// does not answer, and all waiting writes fail at the same time instead of one after the other.
func (r *Registry) beginWrite(ctx context.Context) error {
	ticker := time.NewTicker(r.MaxWrite)
	defer ticker.Stop()
	commits := r.commits.Load()
	for {
		select {
		case r.writing <- struct{}{}:
			if ctx.Err() != nil {
				<-r.writing
				return context.Cause(ctx)
			}
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
			before := commits
			if commits = r.commits.Load(); commits == before {
				const why = "earlier writes still wait for it"
				return r.unavailable(ctx, &Failure{Public: why, Unchanged: true, Err: errors.New(why)}, false)
			}
		}
	}
}

// endWrite lets the next write begin. If the outcome of a commit is unknown, the store is loaded before, in background.
func (r *Registry) endWrite() {
	if !r.stale {
		<-r.writing
		return
	}
	go func() {
		defer func() { <-r.writing }()
		err := r.reload(r.lifetime)
		if r.stale = err != nil; r.stale {
			r.warn(r.lifetime, "cannot load the registry's store after a failed commit; the next write tries again", err)
		}
	}()
}

// committed publishes a committed transaction and returns the resulting snapshot.
func (r *Registry) committed(
	ctx context.Context, current *snapshot, t Transaction, sequence uint64,
) (*snapshot, error) {
	for i := range t.Put {
		t.Put[i].Version = sequence
	}
	next, changes, err := current.apply(Commit{Sequence: sequence, Put: t.Put, Delete: t.Delete})
	switch {
	case err != nil:
		r.stale = r.watcher == nil
		return nil, fmt.Errorf("reading back a committed write: %w", err)
	case r.watcher != nil:
		// The watch delivers the commit in its order. If that takes too long, the write is durable all the same.
		seen, cancel := context.WithTimeout(ctx, visibleWithin)
		defer cancel()
		r.await(seen, sequence)
	case sequence == current.sequence+1:
		r.publish(next, changes)
	default:
		r.stale = true // there was another commit in between, for example one that was given up and then made
	}
	return next, nil
}

// visibleWithin bounds how long a durable write waits until this replica has applied it.
const visibleWithin = 2 * time.Second

// awaitLatest waits until the snapshot includes every write that any replica answered before the call. Each write
// begins with it, so that a client that changes replicas is never answered from an older state.
func (r *Registry) awaitLatest(ctx context.Context) error {
	if r.watcher == nil {
		return nil
	}
	defer call.Pause(ctx)()
	bounded, cancel := withMargin(ctx, r.MaxWrite)
	defer cancel()
	sequence, err := r.watcher.Latest(bounded)
	if err == nil && !r.await(bounded, sequence) {
		err = &Failure{
			Public: "this replica has not applied all writes of other replicas yet", Unchanged: true,
			Err: fmt.Errorf("the watch has not delivered all commits of the store: %w",
				errors.Join(context.Cause(bounded), r.Following())),
		}
	}
	if err != nil {
		return r.unavailable(ctx, err, false)
	}
	return nil
}
