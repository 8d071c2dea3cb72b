package etcd_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/crdeval/crdeval/server/registry"
	"github.com/crdeval/crdeval/server/registry/etcd"
	"github.com/crdeval/crdeval/server/registry/etcd/etcdtest"
	"github.com/crdeval/crdeval/server/registry/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, o etcd.Options) *etcd.Store {
	t.Helper()
	s, err := etcd.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// raw is a client without any of ours in between.
func raw(t *testing.T, endpoint string) *clientv3.Client {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestStore(t *testing.T) {
	server := etcdtest.Start(t, etcdtest.Options{Args: []string{"--max-request-bytes=8388608"}}) // the kit has an entry of 4 MiB
	client := raw(t, server.Endpoint)
	var stores atomic.Int32
	storetest.Run(t, func(t *testing.T) storetest.Fixture {
		options := etcd.Options{Endpoints: []string{server.Endpoint}, Prefix: fmt.Sprintf("/test/%d/", stores.Add(1))}
		s := open(t, options)
		key := func(name string) string { return options.Prefix + name }
		change := func(op clientv3.Op) func(*testing.T) {
			return func(t *testing.T) {
				if _, err := client.Do(t.Context(), op); err != nil {
					t.Fatal(err)
				}
			}
		}
		return storetest.Fixture{
			Store:   s,
			Reopen:  func() (registry.Store, error) { _ = s.Close(); return etcd.Open(t.Context(), options) },
			Another: func() registry.Store { return open(t, options) },
			Bounced: func() { server.Kill(); server.Start() },
			Compacted: func() {
				now, err := client.Get(t.Context(), "any")
				if err != nil {
					t.Fatal(err)
				}
				if _, err := client.Compact(t.Context(), now.Header.Revision, clientv3.WithCompactPhysical()); err != nil {
					t.Fatal(err)
				}
			},
			Damages: []storetest.Damage{
				{Name: "the identity is gone", Do: change(clientv3.OpDelete(key("store"))), Says: "restore etcd from a snapshot"},
				{Name: "the identity is no JSON", Do: change(clientv3.OpPut(key("store"), "garbage")), Says: "restore etcd from a snapshot"},
				{Name: "the identity is empty", Do: change(clientv3.OpPut(key("store"), "{}")), Says: "restore etcd from a snapshot"},
				{Name: "a later format", Do: change(clientv3.OpPut(key("store"), `{"format":"2","id":"x"}`)), Says: "run the version that wrote it"},
				{Name: "a foreign key", Do: change(clientv3.OpPut(key("theirs"), "x")), Says: "choose another --etcd-prefix"},
				{Name: "an entry without a name", Do: change(clientv3.OpPut(key("entry/"), "x")), Says: "choose another --etcd-prefix"},
				{Name: "a prefix within ours", Do: change(clientv3.OpPut(key("crdeval/store"), "x")), Says: "which crdeval does not write"},
			},
		}
	})
}
