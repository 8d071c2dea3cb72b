package registry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/crdeval/crdeval/engine/host"
)

// errNotWatched is the state before the first connection.
var errNotWatched = errors.New("the store is not watched yet")

// Following returns nil if the registry sees the writes of other replicas, otherwise the reason. Evaluation works all
// the same, with the last snapshot.
func (r *Registry) Following() error {
	if lost := r.lost.Load(); lost != nil {
		return fmt.Errorf("the registry's store is not followed: %w", *lost)
	}
	return nil
}

// setLost publishes err in a variable that is not modified afterwards: Following reads it at any time.
func (r *Registry) setLost(err error) { r.lost.Store(&err) }

// The pause before another attempt to watch or load the store doubles from minPause to maxPause.
const (
	minPause = 50 * time.Millisecond
	maxPause = 2 * time.Second
)

// follow applies the commits of the store until Close. After a failure it watches again, after a pause that doubles
// unless there was progress. If the commits to apply are missing or unreadable, it first loads the store.
func (r *Registry) follow() {
	ctx, pause, reload := r.lifetime, minPause, false
	for {
		var err error
		before := r.Sequence()
		if reload {
			err = r.reload(ctx)
			reload = err != nil
		} else {
			reload, err = r.watchStore(ctx)
		}
		if r.Sequence() != before {
			pause = minPause
		}
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			r.Log.InfoContext(ctx, "the registry loaded its store again", "sequence", r.Sequence())
			continue
		}
		known := r.lost.Load()
		r.setLost(err)
		if known == nil || (*known).Error() != err.Error() {
			r.warn(ctx, "the registry cannot follow its store; it serves the last known state and tries again", err)
		}
		if !sleep(ctx, pause) {
			return
		}
		pause = min(2*pause, maxPause)
	}
}

// watchStore applies commits until the watch fails or a commit cannot be decoded. reload is true if the store must be
// loaded before the next watch.
func (r *Registry) watchStore(ctx context.Context) (reload bool, err error) {
	defer host.Recover(&err)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	connected := func() {
		if lost := r.lost.Swap(nil); lost != nil && !errors.Is(*lost, errNotWatched) {
			r.Log.InfoContext(ctx, "the registry follows its store again")
		}
	}
	var invalid error
	err = r.watcher.Watch(ctx, r.Sequence(), connected, func(c Commit) {
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
		return true, invalid
	}
	return errors.Is(err, ErrCompacted), err
}

// warn logs an error, with the stack of a panic.
func (r *Registry) warn(ctx context.Context, message string, err error) {
	attributes := []any{"error", err}
	if p, is := errors.AsType[*host.PanicError](err); is {
		attributes = append(attributes, "stack", string(p.Stack))
	}
	r.Log.WarnContext(ctx, message, attributes...)
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
