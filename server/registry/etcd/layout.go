package etcd

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/crdeval/crdeval/server/registry"
)

// format is the version of the layout. Stores of another format are rejected.
const format = "2"

// identity is the value of the key "store".
type identity struct {
	Format string `json:"format"`
	ID     string `json:"id"`
}

// identify reads the identity of the store, or creates it if the prefix has no keys. Of several replicas that start at
// the same time, one creates it.
func (s *Store) identify(ctx context.Context) error {
	for {
		found, err := call(ctx, s, readStore, func(ctx context.Context) (*clientv3.GetResponse, error) {
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
		made, err := call(ctx, s, creating, func(ctx context.Context) (*clientv3.TxnResponse, error) {
			return s.client.Txn(ctx).
				// This holds only for a prefix without keys, because it is compared for each key.
				If(clientv3.Compare(clientv3.CreateRevision(s.keys.prefix), "=", 0).WithPrefix()).
				Then(clientv3.OpPut(s.keys.store, string(fresh))).
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
			return s.damaged(fmt.Errorf("there is a key %q, but not %q, which identifies a registry",
				others[0].Key, s.keys.store))
		}
		// The key was deleted meanwhile.
	}
}

// recognize reads the value of the key "store".
func (s *Store) recognize(value []byte) error {
	var i identity
	if err := json.Unmarshal(value, &i); err != nil || i.ID == "" || i.Format == "" {
		return s.damaged(fmt.Errorf("the value of %q is invalid", s.keys.store))
	}
	if i.Format != format {
		return fmt.Errorf("etcd at %s has a registry of format %q below %q, but this version of crdeval reads format %q: "+
			"run the version that wrote it, or choose another --etcd-prefix",
			s.endpoints, i.Format, s.keys.prefix, format)
	}
	s.id, s.identity = i.ID, bytes.Clone(value)
	return nil
}

// check compares the key "store", or nil, with the identity of the store, which may have been deleted or replaced.
func (s *Store) check(kv *mvccpb.KeyValue) error {
	switch {
	case kv == nil:
		return s.damaged(fmt.Errorf("the key %q is missing, which identifies the registry", s.keys.store))
	case !bytes.Equal(kv.Value, s.identity):
		return &registry.Failure{
			Public: "it was replaced by another one: restart this server",
			Err: fmt.Errorf("etcd at %s: the registry below %q was replaced by another one: restart this process to serve that",
				s.endpoints, s.keys.prefix),
		}
	}
	return nil
}

// damaged returns the error of a damaged registry, or of other data.
func (s *Store) damaged(err error) error {
	return &registry.Failure{
		Public: "its contents are damaged",
		Err: fmt.Errorf("%w: below %q in etcd at %s: %w; restore etcd from a snapshot, "+
			"or choose another --etcd-prefix to start with an empty registry", ErrCorrupt, s.keys.prefix, s.endpoints, err),
	}
}

// layout has the keys of a store:
//
//	PREFIX store       format and ID of the store, see identity
//	PREFIX entry/KEY   the value of an entry, whose version is the ModRevision
//
// Every commit puts the key "store" with the same value, so that its ModRevision is the revision of the last commit,
// even if that only deleted entries.
type layout struct {
	prefix         string // ends with a slash
	store, entries string
}

// DefaultPrefix is the default of Options.Prefix.
const DefaultPrefix = "/crdeval/"

func newLayout(prefix string) layout {
	if prefix == "" {
		prefix = DefaultPrefix
	}
	if !strings.HasSuffix(prefix, "/") {
		prefix += "/"
	}
	return layout{prefix: prefix, store: prefix + "store", entries: prefix + "entry/"}
}

// entry returns the key in etcd of an entry.
func (l layout) entry(key string) string { return l.entries + key }

// parse returns the key of the entry that a key in etcd belongs to, or "".
func (l layout) parse(key []byte) string {
	entry, found := strings.CutPrefix(string(key), l.entries)
	if !found {
		return ""
	}
	return entry
}
