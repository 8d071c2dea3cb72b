package transport

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/stats"

	"github.com/crdeval/crdeval/server/flow"
)

const (
	// freeBytes is how many received bytes a connection may hold before it needs a lease.
	freeBytes = 64 << 10
	// overhead is what a message takes on the connection beyond its own bytes, at least.
	overhead = 64
	// unreadPatience bounds the time for which a connection is not read because there is no memory.
	unreadPatience = 5 * time.Second
	// stallInterval is how often the progress of responses is checked. A client that reads fastBytes in it is fast: its
	// responses are not stalled, so others cannot take their memory.
	stallInterval = time.Second
	fastBytes     = 512 << 10
	// minProgress is how much of its responses a client must read in writePatience, unless their rest is smaller.
	minProgress   = 64 << 10
	writePatience = time.Minute
)

// Connections bounds the connections of all listeners of a server, the bytes received on them, and the time to write
// responses.
type Connections struct {
	ConnectionOptions
	start time.Time

	mu   sync.Mutex
	open map[*conn]struct{}
}

// ConnectionOptions configure NewConnections. The zero value has no bounds.
type ConnectionOptions struct {
	Max    int                 // open connections; 0: unlimited
	Memory *flow.Memory        // of the received bytes; nil: unlimited
	Closed func(reason string) // called for each connection that was closed because of a bound; may be nil
	Log    *slog.Logger        // nil: slog.Default()
}

// The reasons for which connections are closed.
const (
	ClosedFull     = "max_connections"
	ClosedUnread   = "response_not_read"
	ClosedNoMemory = "no_memory"
)

// NewConnections returns Connections without a connection.
func NewConnections(o ConnectionOptions) *Connections {
	o.Log = cmp.Or(o.Log, slog.Default())
	if o.Closed == nil {
		o.Closed = func(string) {}
	}
	return &Connections{ConnectionOptions: o, start: time.Now(), open: map[*conn]struct{}{}}
}

// Len returns the number of open connections.
func (c *Connections) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open)
}

// Listener returns a listener whose connections are bounded.
func (c *Connections) Listener(l net.Listener) net.Listener { return boundedListener{l, c} }

type boundedListener struct {
	net.Listener
	of *Connections
}

// Accept implements net.Listener.
func (l boundedListener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c := l.of.add(accepted); c != nil {
			return c, nil
		}
		_ = accepted.Close()
	}
}

// add adds a connection. If there are too many, it closes the one without calls that was idle for longest. It returns
// nil if there is no such connection.
func (c *Connections) add(accepted net.Conn) net.Conn {
	added := &conn{Conn: accepted, of: c}
	added.touch()
	c.mu.Lock()
	var idlest *conn
	if full := c.Max > 0 && len(c.open) >= c.Max; full {
		for other := range c.open {
			if other.calls.Load() == 0 && (idlest == nil || other.active.Load() < idlest.active.Load()) {
				idlest = other
			}
		}
		if idlest == nil {
			c.mu.Unlock()
			c.Closed(ClosedFull)
			return nil
		}
		delete(c.open, idlest)
	}
	c.open[added] = struct{}{}
	c.mu.Unlock()
	if idlest != nil {
		c.Closed(ClosedFull)
		_ = idlest.Close()
	}
	added.lease = c.Memory.Open(callerOf(added.RemoteAddr()))
	return added
}

// callerOf returns the caller of a connection without identity.
func callerOf(a net.Addr) string { return "connection:" + a.String() }

// A conn is a connection of Connections.
type conn struct {
	net.Conn
	of     *Connections
	active atomic.Int64 // when it was last read or written, since of.start
	calls  atomic.Int64 // in progress

	grpc      atomic.Bool  // else the gateway accounts for the received bytes
	lease     *flow.Lease  // of the received bytes
	unread    atomic.Int64 // received bytes that are not part of a complete message, at most
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
	conn *conn
}

// RemoteAddr implements net.Conn.
func (c *conn) RemoteAddr() net.Addr { return connAddr{c.Conn.RemoteAddr(), c} }

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
	n, err := c.Conn.Read(to)
	c.unread.Add(int64(n))
	c.touch()
	return n, err
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
		switch err := c.lease.Grow(ctx, flow.Request, want-have); {
		case err == nil:
			c.charging.Lock()
			c.charged += want - have
			c.charging.Unlock()
			c.lease.AwaitPeer(func() { c.closeFor(ClosedNoMemory) })
			return true
		case ctx.Err() != nil, !errors.Is(err, flow.ErrNoMemory):
			return false
		}
	}
}

// consumed notes that a message of n bytes is complete. Its bytes are no longer those of the connection.
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
		c.lease.Shrink(flow.Request, c.charged-keep)
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

// add adds a response that gRPC has not written yet.
func (c *conn) add(r *response) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.responses == nil {
		c.responses = map[*response]struct{}{}
	}
	c.responses[r] = struct{}{}
	if !c.checking {
		c.checking = true
		time.AfterFunc(stallInterval, c.check)
	}
}

func (c *conn) remove(r *response) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.responses, r)
}

// check closes the connection if the client does not read its responses. The responses of a fast client are not stalled.
func (c *conn) check() {
	c.mu.Lock()
	now, written := time.Now(), c.written.Load()
	fast, extend := written-c.progress >= fastBytes, written-c.extended >= minProgress
	c.progress = written
	if extend {
		c.extended = written
	}
	late := false
	for r := range c.responses {
		if extend {
			r.deadline = now.Add(writePatience + r.patience)
		}
		late = late || now.After(r.deadline)
		if !r.waiting || fast {
			r.waiting = true
			r.lease.AwaitPeer(func() { c.closeFor(ClosedUnread) })
		}
	}
	c.checking = len(c.responses) > 0 && !late
	if c.checking {
		time.AfterFunc(stallInterval, c.check)
	}
	c.mu.Unlock()
	if late {
		c.closeFor(ClosedUnread)
	}
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

// connKey is the key of the *conn in the context of its calls.
type connKey struct{}

// connOf returns the connection of a call; nil if it is not over a conn.
func connOf(ctx context.Context) *conn {
	c, _ := ctx.Value(connKey{}).(*conn)
	return c
}

// connStats tells conns of the calls and messages of gRPC.
type connStats struct{}

// TagConn implements stats.Handler.
func (connStats) TagConn(ctx context.Context, info *stats.ConnTagInfo) context.Context {
	if a, ok := info.RemoteAddr.(connAddr); ok {
		a.conn.grpc.Store(true)
		return context.WithValue(ctx, connKey{}, a.conn)
	}
	return ctx
}

// HandleConn implements stats.Handler.
func (connStats) HandleConn(context.Context, stats.ConnStats) {}

// rpcKey is the key of the *rpcState in the context of a call.
type rpcKey struct{}

// rpcState is what connStats knows of a call.
type rpcState struct{ receiving, stream atomic.Bool }

// TagRPC implements stats.Handler.
func (connStats) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	if connOf(ctx) == nil {
		return ctx
	}
	return context.WithValue(ctx, rpcKey{}, new(rpcState))
}

// HandleRPC implements stats.Handler.
func (connStats) HandleRPC(ctx context.Context, s stats.RPCStats) {
	c := connOf(ctx)
	state, _ := ctx.Value(rpcKey{}).(*rpcState)
	if c == nil || state == nil {
		return
	}
	switch s := s.(type) {
	case *stats.Begin:
		c.calls.Add(1)
		c.receiving.Add(1)
		state.receiving.Store(true)
		state.stream.Store(s.IsClientStream)
	case *stats.InPayload:
		if !state.stream.Load() && state.receiving.Swap(false) {
			c.receiving.Add(-1)
		}
		c.consumed(int64(s.WireLength) + overhead)
	case *stats.End:
		if state.receiving.Swap(false) {
			c.receiving.Add(-1)
		}
		c.consumed(0)
		c.calls.Add(-1)
	}
}
