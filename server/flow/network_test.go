package flow

import (
	"context"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
)

// TestNetwork checks that busy work lets goroutines receive from the network, although it never waits.
func TestNetwork(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	near, err := new(net.Dialer).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	var received atomic.Int64
	for _, c := range []net.Conn{near, far} {
		go func() { // a goroutine at each end sends what it receives, forever
			var b [1]byte
			for {
				if _, err := c.Read(b[:]); err != nil {
					return
				}
				if _, err := c.Write(b[:]); err != nil {
					return
				}
				received.Add(1)
			}
		}()
		defer func() { _ = c.Close() }()
	}
	if _, err := near.Write([]byte{1}); err != nil {
		t.Fatal(err)
	}
	const polls = 200
	s := New(Options{Seats: 1})
	if err := s.Run(t.Context(), func(ctx context.Context) error {
		w := workOf(ctx)
		for range polls {
			s.network.next.Store(0)
			w.sliceEnd.Store(0)
			w.checkpoint()
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if n := received.Load(); n < polls/4 {
		t.Errorf("%d messages in %d polls", n, polls)
	}
}
