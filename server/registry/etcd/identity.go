package etcd

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/crdeval/crdeval/server/registry"
)

// format is the layout of the keys that this package writes. A store of another format is refused, never guessed at.
const format = "1"

// identity is the value of the key "store".
type identity struct {
	Format string `json:"format"`
	ID     string `json:"id"`
}

// identify reads the store's identity, or makes it where nothing is below the prefix. Of several replicas that start at
// once one makes it.
func (s *Store) identify(ctx context.Context) error {
	for {
		found, err := call(ctx, s, s.op("reading the store's identity"), func(ctx context.Context) (*clientv3.GetResponse, error) {
			return s.client.Get(ctx, s.keys.store)
		})
		if err != nil {
			return err
		}
		if len(found.Kvs) == 1 {
			return s.recognize(found.Kvs[0].Value)
		}
		fresh, err := json.Marshal(identity{Format: format, ID: rand.Text()})
		if err != nil {
			return err
		}
		made, err := call(ctx, s, s.op("making the store").writing(), func(ctx context.Context) (*clientv3.TxnResponse, error) {
			return s.client.Txn(ctx).
				// Holds for all keys below the prefix, so only if there is none.
				If(clientv3.Compare(clientv3.CreateRevision(s.keys.prefix), "=", 0).WithPrefix()).
				Then(clientv3.OpPut(s.keys.store, string(fresh)), clientv3.OpPut(s.keys.commit, "")).
				Else(clientv3.OpGet(s.keys.store), clientv3.OpGet(s.keys.prefix, clientv3.WithPrefix(), clientv3.WithLimit(1), clientv3.WithKeysOnly())).
				Commit()
		})
		if err != nil {
			return err
		}
		if made.Succeeded {
			return s.recognize(fresh)
		}
		if now := made.Responses[0].GetResponseRange().Kvs; len(now) == 1 {
			return s.recognize(now[0].Value)
		}
		if others := made.Responses[1].GetResponseRange().Kvs; len(others) == 1 {
			return s.damaged(fmt.Errorf("there are keys, %q for one, but not the one that identifies a registry, %q", others[0].Key, s.keys.store))
		}
		// Deleted between the two looks, by hand then: look again.
	}
}

// recognize reads the value of the key "store".
func (s *Store) recognize(value []byte) error {
	var i identity
	if err := json.Unmarshal(value, &i); err != nil || i.ID == "" || i.Format == "" {
		return s.damaged(fmt.Errorf("the value of %q is not what a registry writes there", s.keys.store))
	}
	if i.Format != format {
		return fmt.Errorf("etcd at %s has a registry of format %q below %q, this version of crdeval reads format %q: run the version that wrote it, or choose another --etcd-prefix",
			s.endpoints, i.Format, s.keys.prefix, format)
	}
	s.id, s.identity = i.ID, bytes.Clone(value)
	return nil
}

// check compares the identity with what the store now has: others may have deleted or replaced it.
func (s *Store) check(value []byte, there bool) error {
	switch {
	case !there:
		return s.damaged(fmt.Errorf("the key %q is gone, which identifies the registry that this process serves", s.keys.store))
	case !bytes.Equal(value, s.identity):
		return &registry.Failure{
			Public: "it was replaced by another one: this server has to be restarted",
			Err:    fmt.Errorf("etcd at %s: the registry below %q was replaced by another one while this process served it: restart it to serve the new one", s.endpoints, s.keys.prefix),
		}
	}
	return nil
}

// damaged is the error of contents that are no registry, or none any more.
func (s *Store) damaged(err error) error {
	return &registry.Failure{
		Public: "its contents are damaged",
		Err: fmt.Errorf("%w: below %q in etcd at %s: %w; restore etcd from a snapshot, or choose another --etcd-prefix to start with an empty registry",
			ErrCorrupt, s.keys.prefix, s.endpoints, err),
	}
}
