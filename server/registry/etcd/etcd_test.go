package etcd_test

import (
	"cmp"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/crdeval/crdeval/server/registry/etcd"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open opens a store whose requests have no tight limit, unless o has one.
func open(t *testing.T, o etcd.Options) *etcd.Store {
	t.Helper()
	o.DialTimeout = cmp.Or(o.DialTimeout, patience)
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
