package crdeval_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	crdeval "github.com/crdeval/crdeval/clients/go"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// TestMultiplexing sends concurrent calls to a server, some of which are cancelled, and checks that each caller gets the
// result of its object.
func TestMultiplexing(t *testing.T) {
	var streams atomic.Int64
	_, c := dialed(t, crdeval.WithMultiplexing(crdeval.MultiplexOptions{}), crdeval.WithDialOptions(grpc.WithStreamInterceptor(
		func(ctx context.Context, d *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, o ...grpc.CallOption) (grpc.ClientStream, error) {
			streams.Add(1)
			return open(ctx, d, cc, method, o...)
		})))
	var group sync.WaitGroup
	for caller := range 16 {
		group.Go(func() {
			for i := range 50 {
				n := 100*caller + i
				ctx, cancel := context.WithCancel(t.Context())
				if i%7 == 0 {
					go cancel()
				}
				err := callOnce(ctx, c, n)
				cancel()
				if err != nil && (i%7 != 0 || status.Code(err) != codes.Canceled) {
					t.Errorf("%d: %v", n, err)
				}
			}
		})
	}
	group.Wait()
	if streams.Load() == 0 {
		t.Error("no stream was opened")
	}
}

// callOnce sends Admit or Read for one object, and checks the result.
func callOnce(ctx context.Context, c *crdeval.Client, n int) error {
	item := thing(n)
	var object []byte
	var failed error
	if n%2 == 0 {
		r, err := c.AdmitItems(ctx, []*crdevalv1.WriteItem{item}, crdeval.AdmitOptions{})
		if err != nil {
			return err
		}
		object, failed = r[0].Object(), r[0].Err
	} else {
		r, err := c.ReadItems(ctx, []*crdevalv1.ObjectItem{{Object: item.GetCreate().GetObject()}}, crdeval.ReadOptions{TargetVersion: "v1"})
		if err != nil {
			return err
		}
		object, failed = r[0].GetObject().GetJson(), r[0].Err
	}
	unknown := n%10 == 3
	switch {
	case unknown && failed == nil:
		return fmt.Errorf("a result for an unknown kind: %s", object)
	case !unknown && (failed != nil || !strings.Contains(string(object), fmt.Sprintf(`"t%d"`, n))):
		return fmt.Errorf("got %s, %w", object, failed)
	}
	return nil
}

// TestMultiplexingAfterRestart checks that calls succeed after the server was replaced.
func TestMultiplexingAfterRestart(t *testing.T) {
	server, c := dialed(t, crdeval.WithMultiplexing(crdeval.MultiplexOptions{}))
	if err := callOnce(t.Context(), c, 0); err != nil {
		t.Fatal(err)
	}
	server.stop()
	if err := callOnce(t.Context(), c, 0); status.Code(err) != codes.Unavailable {
		t.Errorf("without a server: %v", err)
	}
	server.start()
	fresh, _ := dial(t, server.address)
	registerAll(t, fresh, named("things", ""))
	c.AtLeast(fresh.Token())
	for {
		err := callOnce(t.Context(), c, 0)
		if err == nil {
			return
		}
		if status.Code(err) != codes.Unavailable { // until the connection is tried again
			t.Fatal(err)
		}
	}
}
