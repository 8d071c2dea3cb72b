package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/crdeval/crdeval/server/call"
)

const (
	// freeBytes is how many received bytes a connection may hold before it needs a lease.
	freeBytes = 64 << 10
	// maxUnseen is the time between two reads of a connection up to which the bytes of the second may have waited all the time.
	maxUnseen = 20 * time.Millisecond
	// readsOfSmall is the number of reads between two calls up to which the first one is small. A read has up to 32 KiB.
	readsOfSmall = 4
	// rejectionPause is how long a connection is not read after a rejected call, unless bytes of it wait already. Then one
	// read has more calls, and one write has more rejections. The calls of the connection have at most smallCall bytes on
	// average: clients stop sending larger ones when they are rejected, which must not be later.
	rejectionPause = 2 * time.Millisecond
	smallCall      = 16 << 10
	// unreadPatience is how long a connection is not read because memory is short. Then it is closed.
	unreadPatience = 5 * time.Second
)

// A conn is a connection of Connections.
type conn struct {
	net.Conn
	of     *Connections
	active atomic.Int64 // when it was last read or written, since of.start
	calls  atomic.Int64 // in progress

	bytes  atomic.Int64 // received
	begins atomic.Int64 // number of calls
	reads  atomic.Int64 // number of them
	begun  atomic.Int64 // reads when the last call began
	behind atomic.Int64 // since when received bytes have waited to be read, since of.start; 0: no bytes wait

	rejected  atomic.Bool  // a call, since the last read
	auxiliary atomic.Int64 // streams

	grpc      atomic.Bool  // if false, the gateway accounts for the received bytes
	lease     *call.Lease  // of the received bytes
	unread    atomic.Int64 // upper bound of the received bytes of incomplete messages
	receiving atomic.Int64 // calls without a complete message
	written   atomic.Int64
	charging  sync.Mutex // guards charged
	charged   int64      // the bytes of lease
	closing   sync.Once

	mu        sync.Mutex
	responses map[*response]struct{}
	checking  bool
	progress  int64 // written at the last check
	extended  int64 // written when the deadlines of responses were extended for the last time
}

// connAddr is the remote address of a conn, by which gRPC finds it.
type connAddr struct {
	net.Addr
	conn   *conn
	caller string // call.ConnectionPrefix and the address as text: each call needs it several times
}

// RemoteAddr implements net.Conn.
func (c *conn) RemoteAddr() net.Addr { return c.addr() }

func (c *conn) addr() connAddr {
	a := c.Conn.RemoteAddr()
	return connAddr{a, c, call.ConnectionPrefix + a.String()}
}

// String implements net.Addr.
func (a connAddr) String() string { return a.caller[len(call.ConnectionPrefix):] }

// NetConn returns the connection of the operating system.
func (c *conn) NetConn() net.Conn { return c.Conn }

func (c *conn) touch() { c.active.Store(int64(time.Since(c.of.start))) }

var errNoMemoryToRead = errors.New("there is no memory for incomplete messages")

// Read implements net.Conn. While there is no memory, it does not read.
func (c *conn) Read(to []byte) (int, error) {
	if c.receiving.Load() <= 0 { // gRPC has dropped the bytes, such as those of a call that was rejected by its headers
		c.consumed(c.unread.Load())
	}
	if c.unread.Load() > freeBytes && c.grpc.Load() && !c.charge() {
		c.closeFor(ClosedNoMemory)
		return 0, errNoMemoryToRead
	}
	if c.rejected.Swap(false) && c.behind.Load() == 0 && c.bytes.Load() <= c.begins.Load()*smallCall {
		time.Sleep(rejectionPause)
		c.touch() // the next bytes have not waited for a processor
	}
	before := c.active.Load()
	n, err := c.Conn.Read(to)
	c.reads.Add(1)
	c.bytes.Add(int64(n))
	c.unread.Add(int64(n))
	c.touch()
	if n < len(to) {
		c.behind.Store(0)
	} else if c.behind.Load() == 0 {
		if now := c.active.Load(); now-before < int64(maxUnseen) {
			c.behind.Store(before)
		} else {
			c.behind.Store(now)
		}
	}
	return n, err
}

// waited returns how long the bytes of a call whose headers were just read have waited to be read. It is 0 if the call
// before was large: then bytes arrive faster than they are read, but have not waited since then.
func (c *conn) waited() time.Duration {
	if c == nil {
		return 0
	}
	c.begins.Add(1)
	reads := c.reads.Load()
	since := c.behind.Load()
	if reads-c.begun.Swap(reads) > readsOfSmall {
		c.behind.CompareAndSwap(since, 0)
		return 0
	}
	if since == 0 {
		return 0
	}
	return time.Since(c.of.start) - time.Duration(since)
}

// charge makes the lease cover the unread bytes. It returns false if that was not possible in time.
func (c *conn) charge() bool {
	ctx, cancel := context.WithTimeout(context.Background(), unreadPatience)
	defer cancel()
	for {
		c.charging.Lock()
		want := (c.unread.Load() + freeBytes) / freeBytes * freeBytes
		have := c.charged
		c.charging.Unlock()
		if want <= have || want <= freeBytes {
			return true
		}
		switch err := c.lease.Grow(ctx, call.Request, want-have); {
		case err == nil:
			c.charging.Lock()
			c.charged += want - have
			c.charging.Unlock()
			c.lease.AwaitPeer(func() { c.closeFor(ClosedNoMemory) })
			return true
		case ctx.Err() != nil, !errors.Is(err, call.ErrNoMemory):
			return false
		}
	}
}

// consumed records that a message of n bytes is complete. Its call accounts for it from now on.
func (c *conn) consumed(n int64) {
	rest := c.unread.Add(-n)
	if rest < 0 || c.receiving.Load() <= 0 {
		c.unread.CompareAndSwap(rest, 0)
		rest = 0
	}
	c.charging.Lock()
	defer c.charging.Unlock()
	if c.charged > 0 && rest <= c.charged-freeBytes {
		keep := rest / freeBytes * freeBytes
		c.lease.Shrink(call.Request, c.charged-keep)
		if c.charged = keep; keep == 0 {
			c.lease.AwaitPeer(nil)
		}
	}
}

// Write implements net.Conn.
func (c *conn) Write(from []byte) (int, error) {
	n, err := c.Conn.Write(from)
	c.written.Add(int64(n))
	c.touch()
	return n, err
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.closing.Do(func() {
		c.of.mu.Lock()
		delete(c.of.open, c)
		c.of.mu.Unlock()
		c.lease.Release()
	})
	err := c.Conn.Close()
	c.mu.Lock()
	unwritten := c.responses
	c.responses = nil
	c.mu.Unlock()
	for r := range unwritten { // gRPC drops them without a call
		r.end()
	}
	return err
}

// closeFor closes the connection because of a bound.
func (c *conn) closeFor(reason string) {
	c.of.Closed(reason)
	c.of.Log.Warn("closing a connection", "reason", reason, "peer", c.Conn.RemoteAddr().String(), "calls", c.calls.Load(),
		"unread_bytes", c.unread.Load())
	_ = c.Close()
}

// followState notes whether an HTTP connection has calls in progress.
func followState(c net.Conn, state http.ConnState) {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	if own, ok := c.(*conn); ok {
		switch state {
		case http.StateActive:
			own.calls.Store(1)
		case http.StateIdle:
			own.calls.Store(0)
		}
	}
}
