// Package storetest has the tests that every registry.Store must pass, and the further tests of every registry.Watcher.
package storetest

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/crdeval/crdeval/server/registry"
	"github.com/crdeval/crdeval/server/registry/bolt"
	"github.com/crdeval/crdeval/server/registry/etcd"
	"github.com/crdeval/crdeval/server/registry/etcd/etcdtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is an empty store with the operations that it supports.
type fixture struct {
	Store registry.Store
	// Reopen closes the store and opens its contents again, as a restart of the process does; nil if the store does not
	// keep its contents.
	Reopen func() (registry.Store, error)
	// Another opens the contents again beside Store, as another replica does; nil for a store of one process.
	Another func() registry.Store
	// Bounced restarts the server of the store, which keeps its contents; nil for a store without a server.
	Bounced func()
	// Compacted makes the server delete past commits; nil for a store without a server.
	Compacted func()
	// Damages are ways to damage the contents of a closed store.
	Damages []damage
}

// damage is a way to damage the contents of a store. Then opening or loading the store fails, with Says in the error.
type damage struct {
	Name string
	Do   func(t *testing.T)
	Says string
}

type test struct {
	name string
	test func(*testing.T, fixture)
}

// TestStores runs all tests for each store, each test with a new store.
func TestStores(t *testing.T) {
	for _, s := range []struct {
		name  string
		start func(t *testing.T) (open func(*testing.T) fixture)
		tests [][]test
	}{
		{"memory", func(*testing.T) func(*testing.T) fixture { return openMemory }, [][]test{contents, concurrency}},
		{"bolt", func(*testing.T) func(*testing.T) fixture { return openBolt }, [][]test{contents, concurrency, restarts}},
		{"etcd", startEtcd, [][]test{contents, concurrency, restarts, serverRestarts, watching}},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			open := s.start(t)
			for _, tc := range slices.Concat(s.tests...) {
				t.Run(tc.name, func(t *testing.T) {
					f := open(t)
					t.Cleanup(func() { _ = f.Store.Close() })
					tc.test(t, f)
				})
			}
			damaged(t, open)
		})
	}
}

func openMemory(*testing.T) fixture { return fixture{Store: registry.NewMemoryStore()} }

func TestMemoryID(t *testing.T) {
	if a, b := registry.NewMemoryStore(), registry.NewMemoryStore(); a.ID() == b.ID() {
		t.Errorf("both have the ID %s", a.ID())
	}
}

func openBolt(t *testing.T) fixture {
	dir := filepath.Join(t.TempDir(), "made", "by", "Open")
	s, err := bolt.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return fixture{
		Store: s,
		Reopen: func() (registry.Store, error) {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s, err := bolt.Open(dir)
			if err != nil {
				return nil, err // not a Store that has a nil pointer
			}
			return s, nil
		},
		Damages: boltDamages(filepath.Join(dir, bolt.FileName)),
	}
}

// startEtcd starts a server. Each store has a prefix of its own.
func startEtcd(t *testing.T) func(*testing.T) fixture {
	server := etcdtest.Start(t, "--max-request-bytes=8388608") // a test has an entry of 4 MiB
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{server.Endpoint}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	open := func(t *testing.T, o etcd.Options) *etcd.Store {
		s, err := etcd.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	var stores atomic.Int32
	return func(t *testing.T) fixture {
		options := etcd.Options{
			Endpoints: []string{server.Endpoint}, Prefix: fmt.Sprintf("/test/%d/", stores.Add(1)), DialTimeout: patience,
		}
		s := open(t, options)
		key := func(name string) string { return options.Prefix + name }
		change := func(op clientv3.Op) func(*testing.T) {
			return func(t *testing.T) {
				if _, err := client.Do(t.Context(), op); err != nil {
					t.Fatal(err)
				}
			}
		}
		const restore, other = "restore etcd from a snapshot", "choose another --etcd-prefix"
		return fixture{
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
			Damages: []damage{
				{"the identity is deleted", change(clientv3.OpDelete(key("store"))), restore},
				{"the identity is no JSON", change(clientv3.OpPut(key("store"), "garbage")), restore},
				{"the identity is empty", change(clientv3.OpPut(key("store"), "{}")), restore},
				{"a later format", change(clientv3.OpPut(key("store"), `{"format":"3","id":"x"}`)), "run the version that wrote it"},
				{"a foreign key", change(clientv3.OpPut(key("theirs"), "x")), other},
				{"an entry without a name", change(clientv3.OpPut(key("entry/"), "x")), other},
				{"a prefix within ours", change(clientv3.OpPut(key("crdeval/store"), "x")), "which crdeval does not write"},
			},
		}
	}
}

func put(key, value string) registry.Entry { return registry.Entry{Key: key, Value: []byte(value)} }

func commit(t *testing.T, s registry.Store, tx registry.Transaction) uint64 {
	t.Helper()
	sequence, err := s.Commit(t.Context(), tx)
	if err != nil {
		t.Fatalf("commit: %v", err)
	}
	return sequence
}

func load(t *testing.T, s registry.Store) registry.State {
	t.Helper()
	state, err := s.Load(t.Context())
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	return state
}

// expect compares the contents with pairs of key=value@version.
func expect(t *testing.T, s registry.Store, sequence uint64, want ...string) {
	t.Helper()
	state := load(t, s)
	if got := describe(state.Entries); fmt.Sprint(got) != fmt.Sprint(want) || state.Sequence != sequence {
		t.Errorf("contents %v at %d, want %v at %d", got, state.Sequence, want, sequence)
	}
}

func describe(entries []registry.Entry) []string {
	var out []string
	for _, e := range entries {
		out = append(out, fmt.Sprintf("%s=%s@%d", e.Key, e.Value, e.Version))
	}
	return out
}
