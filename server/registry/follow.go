package registry

import (
	"context"
	"errors"
	"time"
)

// A store that others write to as well is followed: one goroutine applies every commit, ours included, in the store's order. So all replicas go
// through the same states, and a token means the same to each.

// Following says why the registry does not see what other replicas write, nil if it does. Evaluation goes on with what is known.
func (r *Registry) Following() error {
	if r.watcher == nil {
		return nil
	}
	if lost := r.lost.Load(); lost != nil {
		return *lost
	}
	return r.watcher.Following()
}

// setLost publishes err in a variable that is not written to again: Following reads it at any time.
func (r *Registry) setLost(err error) { r.lost.Store(&err) }

// The pauses between attempts to load a store that could not be followed any longer.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = 2 * time.Second
)

// follow applies the commits of the store until Close. When that fails, it loads the store, with pauses.
func (r *Registry) follow() {
	ctx := r.lifetime
	const never = ^uint64(0)
	pause, loaded := firstPause, never // the sequence at which the store was loaded last
	for {
		err := r.watchStore(ctx)
		if ctx.Err() != nil {
			return
		}
		// Whatever it was that was missed: what the store has now is what counts. Who came too late loads at once, unless loading did not help before.
		atOnce := errors.Is(err, ErrCompacted) && r.snapshot.Load().sequence != loaded
		if atOnce {
			pause = firstPause
		}
		for ; ; pause = min(2*pause, lastPause) {
			r.setLost(err)
			if !atOnce {
				r.log.WarnContext(ctx, "the registry cannot follow its store; what is known is served, and it is tried again", "error", err)
				if !sleep(ctx, pause) {
					return
				}
			}
			if err = r.reload(ctx); err == nil {
				break
			}
			atOnce = false
			if ctx.Err() != nil {
				return
			}
		}
		if next := r.snapshot.Load().sequence; next == loaded {
			pause = min(2*pause, lastPause)
		} else {
			pause, loaded = firstPause, next
		}
		r.lost.Store(nil)
		r.log.InfoContext(ctx, "the registry loaded its store anew and follows it", "sequence", loaded)
	}
}

// watchStore applies commits until it has to give up, or cannot read one.
func (r *Registry) watchStore(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var unreadable error
	err := r.watcher.Watch(ctx, r.snapshot.Load().sequence, func(c Commit) {
		current := r.snapshot.Load()
		if unreadable != nil || c.Sequence <= current.sequence {
			return
		}
		next, changes, err := current.apply(c)
		if err != nil {
			unreadable = err
			stop(err)
			return
		}
		r.publish(next, changes)
	})
	if unreadable != nil {
		return unreadable
	}
	return err
}

// sleep reports whether it was not woken by the end of ctx.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
