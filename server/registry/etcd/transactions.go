package etcd

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/crdeval/crdeval/server/registry"
)

// The first page of Load has firstPage keys. The next ones have about pageBytes, because the sizes of values differ.
const (
	firstPage = 64
	maxPage   = 4096
	pageBytes = 4 << 20
)

// loadAttempts bounds how often Load starts again because etcd was compacted meanwhile.
const loadAttempts = 5

// Load implements registry.Store. All pages have the revision of the first, which is a linearizable read.
func (s *Store) Load(ctx context.Context) (registry.State, error) {
	for attempt := 1; ; attempt++ {
		state, err := s.load(ctx)
		if !errors.Is(err, rpctypes.ErrCompacted) || attempt == loadAttempts {
			return state, err
		}
	}
}

func (s *Store) load(ctx context.Context) (registry.State, error) {
	var (
		state    registry.State
		end      = clientv3.GetPrefixRangeEnd(s.keys.prefix)
		from     = s.keys.prefix
		revision int64
		limit    = int64(firstPage)
	)
	for {
		page, err := call(ctx, s, loading, func(ctx context.Context) (*clientv3.GetResponse, error) {
			return s.client.Get(ctx, from, clientv3.WithRange(end), clientv3.WithLimit(limit), clientv3.WithRev(revision))
		})
		if err != nil {
			return registry.State{}, err
		}
		if revision == 0 {
			revision = page.Header.Revision
		}
		size := 0
		for _, kv := range page.Kvs {
			size += len(kv.Key) + len(kv.Value)
			if string(kv.Key) == s.keys.store {
				state.Sequence = uint64(kv.ModRevision)
				if err := s.check(kv); err != nil {
					return registry.State{}, err
				}
			} else if key := s.keys.parse(kv.Key); key != "" {
				state.Entries = append(state.Entries, entry(key, kv))
			} else {
				return registry.State{}, s.foreign(kv.Key)
			}
		}
		if !page.More || len(page.Kvs) == 0 {
			break
		}
		from = string(page.Kvs[len(page.Kvs)-1].Key) + "\x00"
		limit = min(max(int64(len(page.Kvs))*pageBytes/int64(size+1), 1), maxPage)
	}
	if state.Sequence == 0 {
		return registry.State{}, s.check(nil)
	}
	return state, nil
}

// Latest implements registry.Watcher.
func (s *Store) Latest(ctx context.Context) (uint64, error) {
	last, _, err := s.latest(ctx)
	return last, err
}

// latest returns the sequence of the last commit and the revision of etcd, by a linearizable read.
func (s *Store) latest(ctx context.Context) (sequence uint64, revision int64, err error) {
	now, err := call(ctx, s, readStore, func(ctx context.Context) (*clientv3.GetResponse, error) {
		return s.client.Get(ctx, s.keys.store)
	})
	if err != nil {
		return 0, 0, err
	}
	kv := first(now.Kvs)
	if err := s.check(kv); err != nil {
		return 0, 0, err
	}
	return uint64(kv.ModRevision), now.Header.Revision, nil
}

// first returns the first key-value pair, or nil.
func first(kvs []*mvccpb.KeyValue) *mvccpb.KeyValue {
	if len(kvs) == 0 {
		return nil
	}
	return kvs[0]
}

func entry(key string, kv *mvccpb.KeyValue) registry.Entry {
	return registry.Entry{Key: key, Value: kv.Value, Version: uint64(kv.ModRevision)}
}

// foreign returns the error of a key that is not part of the layout.
func (s *Store) foreign(key []byte) error {
	return s.damaged(fmt.Errorf("there is a key %q, which crdeval does not write: delete it if nothing needs it", key))
}

// Commit implements registry.Store by one transaction.
func (s *Store) Commit(ctx context.Context, t registry.Transaction) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, context.Cause(ctx)
	}
	conditions := make([]clientv3.Cmp, 0, len(t.Expect)+1)
	// The store must still be the one that this process opened.
	conditions = append(conditions, clientv3.Compare(clientv3.Value(s.keys.store), "=", string(s.identity)))
	for _, e := range t.Expect {
		conditions = append(conditions, clientv3.Compare(clientv3.ModRevision(s.keys.entry(e.Key)), "=", int64(e.Version)))
	}
	changes := make([]clientv3.Op, 0, len(t.Put)+len(t.Delete)+len(t.DeletePrefix)+1)
	for _, e := range t.Put {
		changes = append(changes, clientv3.OpPut(s.keys.entry(e.Key), string(e.Value)))
	}
	for _, key := range t.Delete {
		changes = append(changes, clientv3.OpDelete(s.keys.entry(key)))
	}
	for _, prefix := range t.DeletePrefix {
		changes = append(changes, clientv3.OpDelete(s.keys.entry(prefix), clientv3.WithPrefix()))
	}
	changes = append(changes, clientv3.OpPut(s.keys.store, string(s.identity)))
	done, err := call(ctx, s, committing, func(ctx context.Context) (*clientv3.TxnResponse, error) {
		return s.client.Txn(ctx).If(conditions...).Then(changes...).Else(clientv3.OpGet(s.keys.store)).Commit()
	})
	if err != nil {
		return 0, err
	}
	if !done.Succeeded {
		if err := s.check(first(done.Responses[0].GetResponseRange().Kvs)); err != nil {
			return 0, err
		}
		return 0, registry.ErrConflict
	}
	return uint64(done.Header.Revision), nil
}
