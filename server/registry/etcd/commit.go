package etcd

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/crdeval/crdeval/server/registry"
)

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
	changes = append(changes, clientv3.OpPut(s.keys.commit, ""))
	o := s.op("committing").writing()
	done, err := call(ctx, s, o, func(ctx context.Context) (*clientv3.TxnResponse, error) {
		return s.client.Txn(ctx).If(conditions...).Then(changes...).Else(clientv3.OpGet(s.keys.store)).Commit()
	})
	if err != nil {
		return 0, err
	}
	if !done.Succeeded {
		found := done.Responses[0].GetResponseRange().Kvs
		var value []byte
		if len(found) > 0 {
			value = found[0].Value
		}
		if err := s.check(value, len(found) > 0); err != nil {
			return 0, err
		}
		return 0, registry.ErrConflict
	}
	return uint64(done.Header.Revision), nil
}
