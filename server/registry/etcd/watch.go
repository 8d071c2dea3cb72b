package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/crdeval/crdeval/server/registry"
)

// A watch requests progress from etcd every heartbeat, and fails after silence without a response.
const (
	heartbeat = time.Second
	silence   = 5 * time.Second
)

var (
	errSilent = fmt.Errorf("etcd sent no response for %v", silence)
	errEnded  = errors.New("etcd ended the watch")
	errPassed = errors.New("etcd was compacted, but no commit is missing")
)

// Watch implements registry.Watcher. If its member loses the majority, the watch continues at another member.
func (s *Store) Watch(ctx context.Context, after uint64, connected func(), apply func(registry.Commit)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.client.Ctx(), func() { cancel(registry.ErrClosed) })()
	w := &watch{store: s, last: after, connected: connected, apply: apply}
	err := errPassed
	for errors.Is(err, errPassed) {
		err = w.run(ctx)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// watch is one Watch.
type watch struct {
	store *Store
	last  uint64 // the sequence of the last applied commit
	from  int64  // the revision to watch from; there is no commit between last and from

	connected func()
	apply     func(registry.Commit)
}

// run watches until it fails. The client reconnects and resumes by itself; run fails when that takes too long.
func (w *watch) run(ctx context.Context) error {
	s := w.store
	if err := w.verify(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	responses := s.client.Watch(ctx, s.keys.prefix, clientv3.WithPrefix(), clientv3.WithRev(w.from),
		clientv3.WithCreatedNotify(), clientv3.WithFragment()) // the client joins fragments: a response has whole revisions
	ticker := time.NewTicker(heartbeat)
	defer ticker.Stop()
	for heard := time.Now(); ; {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case r, ok := <-responses:
			if !ok {
				return errEnded
			}
			if err := w.respond(ctx, r); err != nil {
				return err
			}
			heard = time.Now()
			w.connected()
		case <-ticker.C:
			if time.Since(heard) > silence {
				return errSilent
			}
			w.ask(ctx)
		}
	}
}

// verify checks that the store is the one that was watched before, and is not older, as after a restore. It uses a
// linearizable read, so that a lagging member is no reason to give up. If no commit was made since the last applied
// one, the watch continues at the current revision: other users of etcd may have compacted the revisions in between.
func (w *watch) verify(ctx context.Context) error {
	sequence, revision, err := w.store.latest(ctx)
	if err != nil {
		return err
	}
	if uint64(revision) < w.last {
		return fmt.Errorf("%w: etcd is at revision %d, but was at %d: it was restored from a snapshot",
			registry.ErrCompacted, revision, w.last)
	}
	w.from = int64(w.last) + 1
	if sequence == w.last {
		w.from = revision // for a watch of a future revision etcd sends no progress
	}
	return nil
}

// ask requests a progress notification.
func (w *watch) ask(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, heartbeat/2)
	defer cancel()
	_ = w.store.client.RequestProgress(ctx) // a failure ends the watch after silence
}

func (w *watch) respond(ctx context.Context, r clientv3.WatchResponse) error {
	if r.CompactRevision != 0 {
		if err := w.verify(ctx); err != nil {
			return err
		}
		if w.from >= r.CompactRevision {
			return errPassed // no commit is missing: the next run resumes at w.from
		}
		return fmt.Errorf("%w: etcd was compacted at revision %d, the last applied revision is %d", registry.ErrCompacted, r.CompactRevision, w.last)
	}
	if err := r.Err(); err != nil {
		return w.store.failure(watching, err, false)
	}
	if r.IsProgressNotify() && uint64(r.Header.Revision) < w.last {
		return w.verify(ctx)
	}
	return w.deliver(r.Events)
}

// deliver applies commits. The events with one revision are one commit.
func (w *watch) deliver(events []*clientv3.Event) error {
	for len(events) > 0 {
		revision := events[0].Kv.ModRevision
		n := 1
		for n < len(events) && events[n].Kv.ModRevision == revision {
			n++
		}
		if uint64(revision) > w.last {
			commit, ours, err := w.commit(uint64(revision), events[:n])
			if err != nil {
				return err
			}
			if ours {
				w.apply(commit)
				w.last = commit.Sequence
			}
		}
		events = events[n:]
	}
	return nil
}

// commit returns the commit of a revision's events. ours is false if no key of theirs is part of the layout.
func (w *watch) commit(sequence uint64, events []*clientv3.Event) (c registry.Commit, ours bool, err error) {
	s := w.store
	c = registry.Commit{Sequence: sequence}
	for _, e := range events {
		kv := e.Kv
		if e.Type == mvccpb.Event_DELETE {
			kv = nil
		}
		key := s.keys.parse(e.Kv.Key)
		switch {
		case string(e.Kv.Key) == s.keys.store:
			ours = true
			if err := s.check(kv); err != nil {
				// A new watch would get the same event again, also after a repair. The registry must load the store.
				return c, false, fmt.Errorf("%w: %w", registry.ErrCompacted, err)
			}
		case key != "" && kv == nil:
			c.Delete = append(c.Delete, key)
		case key != "":
			c.Put = append(c.Put, entry(key, kv))
		case kv != nil: // keep serving; the next Load fails
			s.log.Warn("the registry's prefix in etcd has a key that crdeval does not write: delete it, or servers cannot start",
				"key", string(kv.Key))
		}
	}
	return c, ours || len(c.Put)+len(c.Delete) > 0, nil
}
