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

// A watch asks etcd every heartbeat whether it is up to date, and counts as lost when nothing was heard for silence.
const (
	heartbeat = time.Second
	silence   = 5 * time.Second
)

// A watch that failed is tried again after firstPause, then after twice as long each time, up to maxPause.
const (
	firstPause = 50 * time.Millisecond
	maxPause   = 2 * time.Second
)

var (
	errNotWatched = errors.New("the store is not being watched")
	errSilent     = fmt.Errorf("nothing was heard from etcd for %v", silence)
	errEnded      = errors.New("etcd ended the watch")
	errPassed     = errors.New("etcd was compacted behind what others wrote to it")
)

// Watch implements registry.Watcher. The member that serves it must be in touch with a majority; if it is not, the
// watch goes on at another one.
func (s *Store) Watch(ctx context.Context, after uint64, tell func(registry.Commit)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(s.client.Ctx(), func() { cancel(registry.ErrClosed) })
	defer stop()
	defer s.follow(errNotWatched)

	var final *giveUp
	w := &watch{store: s, last: after, tell: tell}
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		told := w.last
		err := w.run(ctx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.As(err, &final):
			return final.err
		}
		if w.last != told {
			pause = firstPause
		}
		s.follow(err)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// giveUp wraps an error that trying again does not heal.
type giveUp struct{ err error }

func (g *giveUp) Error() string { return g.err.Error() }

// watch is one Watch.
type watch struct {
	store *Store
	last  uint64 // the sequence up to which commits were told
	from  int64  // the revision to watch from: there is no commit between last and it that was not told
	tell  func(registry.Commit)
}

// run watches until something fails. The client reconnects by itself and goes on where it was; run fails when that
// takes long, and then says why.
func (w *watch) run(ctx context.Context) error {
	s := w.store
	if err := w.verify(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	responses := s.client.Watch(ctx, s.keys.prefix, clientv3.WithPrefix(), clientv3.WithRev(w.from),
		clientv3.WithCreatedNotify(), clientv3.WithFragment()) // the client puts fragments together again: a response has whole revisions
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
			s.follow(nil)
		case <-ticker.C:
			if time.Since(heard) > silence {
				return errSilent
			}
			w.ask(ctx)
		}
	}
}

// verify makes sure that the store is the one that was watched before, and no older than then: one restored from a
// snapshot may be. It asks a majority, since a member that lags behind is no reason to give up. Where the last commit
// is the last one told, the watch goes on from now: others who write to the same etcd count its revisions up, and have
// those since then compacted. An older one is that of a registry which was restored.
func (w *watch) verify(ctx context.Context) error {
	s := w.store
	now, err := call(ctx, s, s.op("looking whether it is the same registry"), func(ctx context.Context) (*clientv3.TxnResponse, error) {
		return s.client.Txn(ctx).Then(clientv3.OpGet(s.keys.store), clientv3.OpGet(s.keys.commit, clientv3.WithKeysOnly())).Commit()
	})
	if err != nil {
		return err
	}
	store, commit := now.Responses[0].GetResponseRange().Kvs, now.Responses[1].GetResponseRange().Kvs
	var value []byte
	if len(store) > 0 {
		value = store[0].Value
	}
	if err := s.check(value, len(store) > 0); err != nil {
		return &giveUp{err}
	}
	if uint64(now.Header.Revision) < w.last {
		return &giveUp{fmt.Errorf("%w: etcd is at revision %d, before the last one told, %d: it was restored from a snapshot",
			registry.ErrCompacted, now.Header.Revision, w.last)}
	}
	w.from = int64(w.last) + 1
	if len(commit) > 0 && uint64(commit[0].ModRevision) == w.last {
		w.from = now.Header.Revision // not the next one: of a watch that begins in the future etcd says nothing before that has come
	}
	return nil
}

// ask has etcd answer where the watch is. Without an answer the watch is as good as lost, whatever its connection looks
// like.
func (w *watch) ask(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, heartbeat/2)
	defer cancel()
	_ = w.store.client.RequestProgress(ctx) // an error shows as silence
}

func (w *watch) respond(ctx context.Context, r clientv3.WatchResponse) error {
	if r.CompactRevision != 0 {
		if err := w.verify(ctx); err != nil {
			return err
		}
		if w.from >= r.CompactRevision {
			return errPassed // nothing is missing: the next run begins there
		}
		return &giveUp{fmt.Errorf("%w: etcd was compacted at revision %d, the last one told is %d", registry.ErrCompacted, r.CompactRevision, w.last)}
	}
	if err := r.Err(); err != nil {
		return w.store.failure(w.store.op("watching"), err, false)
	}
	if r.IsProgressNotify() && uint64(r.Header.Revision) < w.last {
		return w.verify(ctx)
	}
	return w.deliver(r.Events)
}

// deliver tells commits: the events of one revision are one.
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
				w.tell(commit)
				w.last = commit.Sequence
			}
		}
		events = events[n:]
	}
	return nil
}

// commit makes one of the events of a revision. ours is unset where these are about keys alone that do not belong below
// the prefix.
func (w *watch) commit(sequence uint64, events []*clientv3.Event) (c registry.Commit, ours bool, err error) {
	s := w.store
	c = registry.Commit{Sequence: sequence}
	for _, e := range events {
		deleted := e.Type == mvccpb.Event_DELETE
		switch kind, key := s.keys.kind(e.Kv.Key); kind {
		case entryKey:
			ours = true
			if deleted {
				c.Delete = append(c.Delete, key)
			} else {
				c.Put = append(c.Put, entry(key, e.Kv))
			}
		case storeKey:
			if err := s.check(e.Kv.Value, !deleted); err != nil {
				return c, false, &giveUp{err}
			}
		case commitKey:
			ours = true
		default:
			if !deleted { // no reason to stop serving; the next Load refuses it
				s.log.Warn("the registry's prefix in etcd has a key that crdeval does not write: delete it, or no server starts any more", "key", string(e.Kv.Key))
			}
		}
	}
	return c, ours, nil
}

// following is what Following answers.
type following struct{ err error }

// Following implements registry.Watcher.
func (s *Store) Following() error {
	f := s.following.Load().err
	if f == nil {
		return nil
	}
	return fmt.Errorf("the registry's store is not being followed: %w", f)
}

// follow notes that the store is followed, or why not, and logs when that changes.
func (s *Store) follow(err error) {
	before := s.following.Swap(&following{err})
	switch {
	case err == nil && before.err != nil && !errors.Is(before.err, errNotWatched):
		s.log.Info("following the registry's store again", "endpoints", s.endpoints)
	case err != nil && before != nil && before.err == nil && !errors.Is(err, errNotWatched):
		s.log.Warn("the registry's store cannot be followed at the moment: evaluation goes on with what is known", "endpoints", s.endpoints, "error", err)
	}
}
