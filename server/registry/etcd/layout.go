package etcd

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/crdeval/crdeval/server/registry"
)

// format is the version of the layout. Stores of another format are rejected.
const format = "1"

// identity is the value of the key "store".
type identity struct {
	Format string `json:"format"`
	ID     string `json:"id"`
}

// identify reads the identity of the store, or creates it if the prefix has no keys. Of several replicas that start at the
// same time, one creates it.
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

// check compares the identity with the current one: the store may have been deleted or replaced.
func (s *Store) check(value []byte, there bool) error {
	switch {
	case !there:
		return s.damaged(fmt.Errorf("the key %q is missing, which identifies the registry", s.keys.store))
	case !bytes.Equal(value, s.identity):
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
//	PREFIX commit      empty; every commit puts it, so its ModRevision is the revision of the last commit
//	PREFIX entry/KEY   the value of an entry, whose version is the ModRevision
//
// Revisions count all writes to etcd. The key "commit" gives each commit a revision that can be read, even if the commit only
// deletes entries.
type layout struct {
	prefix                 string // ends with a slash
	store, commit, entries string
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
	return layout{prefix: prefix, store: prefix + "store", commit: prefix + "commit", entries: prefix + "entry/"}
}

// entry returns the key in etcd of an entry.
func (l layout) entry(key string) string { return l.entries + key }

// kind returns the kind of a key in etcd, and the key of an entry.
func (l layout) kind(key []byte) (kind keyKind, entry string) {
	switch k := string(key); {
	case k == l.store:
		return storeKey, ""
	case k == l.commit:
		return commitKey, ""
	case strings.HasPrefix(k, l.entries) && len(k) > len(l.entries):
		return entryKey, k[len(l.entries):]
	}
	return foreignKey, ""
}

type keyKind int

const (
	foreignKey keyKind = iota
	storeKey
	commitKey
	entryKey
)
