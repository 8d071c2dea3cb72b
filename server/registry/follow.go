package registry

import (
	"context"
	"errors"
	"time"
)

// Following returns nil if the registry sees the writes of other replicas, otherwise the reason. Evaluation works all the
// same, with the last snapshot.
func (r *Registry) Following() error {
	if r.watcher == nil {
		return nil
	}
	if lost := r.lost.Load(); lost != nil {
		return *lost
	}
	return r.watcher.Following()
}

// setLost publishes err in a variable that is not modified afterwards: Following reads it at any time.
func (r *Registry) setLost(err error) { r.lost.Store(&err) }

// The pauses between attempts to load the store after a watch failed.
const (
	minPause = 50 * time.Millisecond
	maxPause = 2 * time.Second
)

// follow applies the commits of the store until Close. When the watch fails, it loads the store and watches again.
func (r *Registry) follow() {
	const never = ^uint64(0)
	ctx, pause, loaded := r.lifetime, minPause, never // loaded is the sequence of the last load
	for {
		err := r.watchStore(ctx)
		if ctx.Err() != nil {
			return
		}
		// Compacted commits are loaded without a pause, unless the last load did not help.
		atOnce := errors.Is(err, ErrCompacted) && r.Sequence() != loaded
		if atOnce {
			pause = minPause
		}
		for ; ; pause = min(2*pause, maxPause) {
			r.setLost(err)
			if !atOnce {
				r.Log.WarnContext(ctx, "the registry cannot follow its store; it serves the last known state and tries again",
					"error", err)
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
		if next := r.Sequence(); next == loaded {
			pause = min(2*pause, maxPause)
		} else {
			pause, loaded = minPause, next
		}
		r.lost.Store(nil)
		r.Log.InfoContext(ctx, "the registry loaded its store again and follows it", "sequence", loaded)
	}
}

// watchStore applies commits until the watch fails or a commit cannot be decoded.
func (r *Registry) watchStore(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var invalid error
	err := r.watcher.Watch(ctx, r.Sequence(), func(c Commit) {
		current := r.snapshot.Load()
		if invalid != nil || c.Sequence <= current.sequence {
			return
		}
		next, changes, err := current.apply(c)
		if err != nil {
			invalid = err
			stop(err)
			return
		}
		r.publish(next, changes)
	})
	if invalid != nil {
		return invalid
	}
	return err
}

// sleep reports whether d passed before ctx ended.
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
