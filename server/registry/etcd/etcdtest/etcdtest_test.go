package etcdtest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/crdeval/crdeval/server/registry/etcd/etcdtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A server keeps its contents over everything that can happen to it, and its endpoint.
func TestServer(t *testing.T) {
	began := time.Now()
	s := etcdtest.Start(t)
	t.Logf("started after %v", time.Since(began))
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{s.Endpoint}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	if _, err := client.Put(t.Context(), "k", "v"); err != nil {
		t.Fatal(err)
	}
	for _, again := range []func(){
		func() { s.Stop(); s.Start() },
		func() { s.Kill(); s.Start() },
		func() { s.Pause(); s.Continue() },
	} {
		again()
		got, err := client.Get(t.Context(), "k")
		if err != nil || len(got.Kvs) != 1 || string(got.Kvs[0].Value) != "v" {
			t.Fatalf("got %v, %v", got, err)
		}
	}
	s.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := client.Get(ctx, "k"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a paused server answered: %v", err)
	}
}
