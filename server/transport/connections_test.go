package transport

import (
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/tap"

	"github.com/crdeval/crdeval/server/call"
)

// TestUnreadBytes: bytes that gRPC may keep are charged, at most to the share of a caller. Those of rejected calls are not.
func TestUnreadBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const total, sent = 4 << 20, 8 << 20
		memory := call.NewMemory(total)
		var closed []string
		all := NewConnections(ConnectionOptions{Memory: memory, Closed: func(reason string) { closed = append(closed, reason) }})
		receive := func(receiving int64) (n int, err error) {
			client, server := net.Pipe()
			c := all.add(server).(*conn) //nolint:forcetypeassert // it is one
			c.grpc.Store(true)
			c.receiving.Store(receiving)
			go func() {
				_, _ = client.Write(make([]byte, sent))
				_ = client.Close()
			}()
			defer func() {
				_ = c.Close()
				_ = client.Close()
			}()
			for buffer := make([]byte, 32<<10); err == nil && n < sent; {
				var more int
				more, err = c.Read(buffer)
				n += more
				if held := memory.Stats().Bytes[call.Request]; receiving == 0 && held > 0 {
					t.Fatalf("%d bytes of rejected calls are charged", held)
				}
			}
			return n, err
		}
		if n, err := receive(0); n != sent || err != nil {
			t.Errorf("without calls: %d bytes, %v", n, err)
		}
		start := time.Now()
		n, err := receive(1)
		if !errors.Is(err, errNoMemoryToRead) || n < total/4 || n > total || len(closed) != 1 {
			t.Errorf("an incomplete message: %d bytes, %v, closed %q", n, err, closed)
		}
		if waited := time.Since(start); waited > unreadPatience+time.Second {
			t.Errorf("%v", waited)
		}
		if held := memory.Stats().Bytes[call.Request]; held != 0 {
			t.Errorf("%d bytes are held after the end", held)
		}
	})
}

// TestWaited checks how long the bytes of a connection have waited: since the last read, if it was a moment ago.
func TestWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		c := NewConnections(ConnectionOptions{}).add(server).(*conn) //nolint:forcetypeassert // it is one
		for _, step := range []struct {
			pause         time.Duration
			received, max int
			want          time.Duration
		}{
			{maxUnseen, 8, 8, 0},
			{maxUnseen, 8, 8, maxUnseen},
			{maxUnseen / 2, 8, 16, 0},
			{maxUnseen / 2, 8, 8, maxUnseen / 2},
			{maxUnseen / 2, 8, 8, maxUnseen},
			{0, 1, 8, 0},
		} {
			time.Sleep(step.pause)
			go func() { _, _ = client.Write(make([]byte, step.received)) }()
			if _, err := c.Read(make([]byte, step.max)); err != nil {
				t.Fatal(err)
			}
			if waited := c.waited(); waited != step.want {
				t.Errorf("%+v: %v", step, waited)
			}
		}
		_, _ = client.Close(), c.Close()
	})
}

// TestRejectionPause: a connection is not read for a moment after a rejected call, unless bytes already wait, or
// its calls are large.
func TestRejectionPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		c := NewConnections(ConnectionOptions{}).add(server).(*conn) //nolint:forcetypeassert // it is one
		g := NewGate(GateOptions{Limiter: newLimiter(1), Log: quiet()})
		if err := g.admit(call.With(t.Context(), &call.Call{}), 0); err != nil {
			t.Fatal(err)
		}
		from := call.With(peer.NewContext(t.Context(), &peer.Peer{Addr: c.RemoteAddr()}), &call.Call{})
		reject := g.tap(accessLog{quiet(), &g.overload})
		for _, step := range []struct {
			name          string
			rejected      bool
			received, max int
			want          time.Duration
		}{
			{"no call", false, 8, 16, 0},
			{"a rejected call", true, 8, 8, rejectionPause},
			{"a rejected call, and more bytes", true, 8, 16, 0},
			{"a rejected call, and no more bytes", true, 8, 16, rejectionPause},
			{"no further call", false, 8, 16, 0},
			{"a large call", false, 20 * smallCall, 21 * smallCall, 0},
			{"a rejected call, after a large one", true, 8, 16, 0},
		} {
			if step.rejected {
				if _, err := reject(from, &tap.Info{FullMethodName: "/x/Y"}); err == nil {
					t.Fatal("the call is accepted")
				}
			}
			go func() { _, _ = client.Write(make([]byte, step.received)) }()
			start := time.Now()
			if _, err := c.Read(make([]byte, step.max)); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(start); took != step.want {
				t.Errorf("%s: %v, want %v", step.name, took, step.want)
			}
			if waited := c.waited(); waited != 0 {
				t.Errorf("%s: the bytes have waited for %v", step.name, waited)
			}
		}
		_, _ = client.Close(), c.Close()
	})
}

// TestWaitedAfterLarge checks that a call has not waited while the bytes of a large one arrived.
func TestWaitedAfterLarge(t *testing.T) {
	for _, step := range []struct {
		reads int
		want  time.Duration
	}{{readsOfSmall, (readsOfSmall - 1) * maxUnseen / 2}, {readsOfSmall + 1, 0}} {
		synctest.Test(t, func(t *testing.T) {
			client, server := net.Pipe()
			c := NewConnections(ConnectionOptions{}).add(server).(*conn) //nolint:forcetypeassert // it is one
			for range step.reads {
				time.Sleep(maxUnseen / 2)
				go func() { _, _ = client.Write(make([]byte, 8)) }()
				if _, err := c.Read(make([]byte, 8)); err != nil {
					t.Fatal(err)
				}
			}
			for _, want := range []time.Duration{step.want, step.want} { // the second call arrived with the first
				if waited := c.waited(); waited != want {
					t.Errorf("after %d reads: %v, want %v", step.reads, waited, want)
				}
			}
			_, _ = client.Close(), c.Close()
		})
	}
}

// TestFull checks which connection makes room for a new one: one without calls, or with health watches only.
func TestFull(t *testing.T) {
	for _, c := range []struct {
		calls, auxiliary int64
		closed           bool
	}{{0, 0, true}, {1, 1, true}, {10, 10, true}, {1, 0, false}, {2, 1, false}} {
		all := NewConnections(ConnectionOptions{Max: 1})
		client, server := net.Pipe()
		first := all.add(server).(*conn) //nolint:forcetypeassert // it is one
		first.calls.Store(c.calls)
		first.auxiliary.Store(c.auxiliary)
		other, accepted := net.Pipe()
		added := all.add(accepted)
		if (added != nil) != c.closed || all.Len() != 1 {
			t.Errorf("%d calls, %d of them auxiliary: %v, %d open", c.calls, c.auxiliary, added, all.Len())
		}
		for _, end := range []net.Conn{client, server, other, accepted} {
			_ = end.Close()
		}
	}
}
