package registry

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"
)

// written is what a write led to: the state of the moment of its commit. A catalog or CRD in it may be gone already.
type written struct {
	*snapshot
	more bool // a plan's
}

// write makes one change: propose looks at the newest snapshot and says what to commit; an empty plan commits nothing. It returns a snapshot
// that includes the change. propose may run several times, since other replicas write as well.
func (r *Registry) write(ctx context.Context, propose func(*snapshot) (plan, error)) (written, error) {
	if err := r.turn(ctx); err != nil {
		return written{}, err
	}
	defer r.endTurn()
	patience, cancel := r.patience(ctx)
	defer cancel()
	for {
		if r.stale {
			if err := r.reload(patience); err != nil {
				return written{}, r.unavailable(ctx, err, false)
			}
			r.stale = false
		}
		current := r.snapshot.Load()
		p, err := propose(current)
		if err != nil || p.empty() {
			return written{current, false}, err
		}
		sequence, err := r.store.Commit(patience, p.Transaction)
		switch {
		case err == nil:
			r.commits.Add(1)
			s, err := r.committed(patience, current, p.Transaction, sequence)
			return written{s, p.more}, err
		case errors.Is(err, ErrConflict):
			if err := r.catchUp(patience, current); err != nil {
				return written{}, r.unavailable(ctx, err, false)
			}
		case errors.Is(err, ErrTooLarge):
			return written{}, tooLarge(err)
		default:
			if r.watcher == nil && mayBeWritten(err) { // a Watcher reports the commit if it was made
				r.stale = r.reload(patience) != nil
			}
			return written{}, r.unavailable(ctx, err, mayBeWritten(err))
		}
		if patience.Err() != nil {
			return written{}, r.unavailable(ctx, ErrConflict, false)
		}
	}
}

// writeTo is write of a change to a CRD that is there, and has the etag, if that is not empty. It begins with the newest state.
func (r *Registry) writeTo(ctx context.Context, catalog, name, etag string, propose func(*snapshot, *crd) (plan, error)) (written, error) {
	if err := r.newest(ctx); err != nil {
		return written{}, err
	}
	return r.write(ctx, func(s *snapshot) (plan, error) {
		c, err := s.catalog(catalog)
		if err != nil {
			return plan{}, err
		}
		d, err := c.crd(name)
		if err != nil {
			return plan{}, err
		}
		if err := (Precondition{Etag: etag}).check(c, name); err != nil {
			return plan{}, err
		}
		return propose(s, d)
	})
}

// crd returns one as the write left it.
func (w written) crd(catalog, name string) (*crd, error) {
	c, err := w.catalog(catalog)
	if err != nil {
		return nil, err
	}
	return c.crd(name)
}

// turn waits until this write may begin. It gives up when no commit has succeeded for r.maxWrite: the store does not answer, and all that wait
// for it fail at the same time instead of one after the other.
func (r *Registry) turn(ctx context.Context) error {
	ticker := time.NewTicker(r.maxWrite)
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
				return r.unavailable(ctx, errOthersWait, false)
			}
		}
	}
}

// endTurn lets the next write begin. If the outcome of the last commit is unknown, it first loads the store, in the background.
func (r *Registry) endTurn() {
	if !r.stale {
		<-r.writing
		return
	}
	go func() {
		defer func() { <-r.writing }()
		err := r.reload(r.lifetime)
		if r.stale = err != nil; r.stale {
			r.log.WarnContext(r.lifetime, "cannot load the registry's store after a failed commit; the next write tries again", "error", err)
		}
	}()
}

var errOthersWait = errors.New("writes that came earlier still wait for it")

// patience is the context of a commit: it ends early enough for the caller to be told.
func (r *Registry) patience(ctx context.Context) (context.Context, context.CancelFunc) {
	wait := r.maxWrite
	if deadline, ok := ctx.Deadline(); ok {
		if left := time.Until(deadline); left > 2*answerMargin {
			wait = min(wait, left-answerMargin)
		}
	}
	return context.WithTimeout(ctx, wait)
}

// committed makes a committed transaction visible, and returns the state that it led to.
func (r *Registry) committed(ctx context.Context, current *snapshot, t Transaction, sequence uint64) (*snapshot, error) {
	for i := range t.Put {
		t.Put[i].Version = sequence
	}
	next, changes, err := current.apply(Commit{Sequence: sequence, Put: t.Put, Delete: t.Delete})
	switch {
	case err != nil:
		r.stale = r.watcher == nil // it is committed, but we cannot read it: that is a fault of ours
		return nil, fmt.Errorf("reading what was just written: %w", err)
	case r.watcher != nil:
		// The same commit comes the way on which those of others come, in its place among them. If it does not come soon it is durable all the same.
		seen, cancel := context.WithTimeout(ctx, visibleWithin)
		defer cancel()
		r.await(seen, sequence)
	case sequence == current.sequence+1:
		r.publish(next, changes)
	default:
		// Others wrote in between, to entries that we did not touch: their writes belong to that sequence too.
		r.stale = r.reload(ctx) != nil
	}
	return next, nil
}

// visibleWithin bounds how long a write that is durable waits to be seen here as well.
const visibleWithin = 2 * time.Second

// catchUp returns when the snapshot is newer than the one that a plan was made of.
func (r *Registry) catchUp(ctx context.Context, current *snapshot) error {
	if r.watcher == nil {
		return r.reload(ctx)
	}
	if r.await(ctx, current.sequence+1) {
		return nil
	}
	return fmt.Errorf("another replica's write came first and is not seen here yet: %w", errors.Join(context.Cause(ctx), r.Following()))
}

// await waits for a snapshot of a sequence or a later one, and says whether there is one.
func (r *Registry) await(ctx context.Context, sequence uint64) bool {
	for {
		changed := r.changed.next()
		if r.snapshot.Load().sequence >= sequence {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		case <-r.lifetime.Done():
			return false
		}
	}
}

// unavailable is the error of a store that failed. Callers are told the kind of failure; where on the server it happened is for the log.
func (r *Registry) unavailable(ctx context.Context, err error, outcomeUnknown bool) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r.log.ErrorContext(ctx, "the registry's store failed", "error", err)
	what := "the server's log says how"
	var number syscall.Errno
	var failure *Failure
	switch {
	case errors.As(err, &failure):
		what = failure.Public
	case errors.As(err, &number):
		what = number.Error()
	case errors.Is(err, ErrConflict):
		what = "each attempt was overtaken by another write"
	case errors.Is(err, ErrClosed):
		what = "it is closed"
	case errors.Is(err, errOthersWait):
		what = errOthersWait.Error()
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		what = "it did not answer in time"
	}
	e := &Error{Reason: StoreUnavailable, Message: "the registry's store failed: " + what + "; try again", Err: err}
	if outcomeUnknown {
		e.Message = "the registry's store failed: " + what + "; whether it has the change is not known: try again, which does no harm if it has"
		e.Metadata = map[string]string{"outcome": "unknown"}
	}
	return e
}

// mayBeWritten tells of a commit's error whether the commit can have been made.
func mayBeWritten(err error) bool {
	failure := (*Failure)(nil)
	return !errors.Is(err, ErrClosed) && (!errors.As(err, &failure) || !failure.Unchanged)
}

func tooLarge(err error) error {
	what := "this is more than the registry's store takes in one write"
	if failure := (*Failure)(nil); errors.As(err, &failure) {
		what += ": " + failure.Public
	}
	return &Error{Reason: LimitExceeded, Message: what, Err: err}
}
