package transport

import (
	"cmp"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/crdeval/crdeval/server/call"
)

// Connections limits the open connections of all listeners, the bytes of incomplete messages on them, and the time to
// write responses.
type Connections struct {
	ConnectionOptions
	start time.Time

	mu   sync.Mutex
	open map[*conn]struct{}
}

// ConnectionOptions configure NewConnections. The zero value has no bounds.
type ConnectionOptions struct {
	Max    int                 // open connections; 0: unlimited
	Memory *call.Memory        // of the received bytes; nil: unlimited
	Closed func(reason string) // called for each connection that was closed because of a bound; may be nil
	Log    *slog.Logger        // nil: slog.Default()
}

// The reasons for closing a connection, as in the metric crdeval_connections_closed_total.
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

// Listener returns a listener that adds its connections to c.
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

// add adds a connection. If the limit is reached, it closes the connection that has been idle for longest, of those
// without calls other than health watches and reflection. It returns nil if all connections have calls.
func (c *Connections) add(accepted net.Conn) net.Conn {
	added := &conn{Conn: accepted, of: c}
	added.lease = c.Memory.Open(added.addr().caller)
	added.touch()
	c.mu.Lock()
	var idlest *conn
	if full := c.Max > 0 && len(c.open) >= c.Max; full {
		for other := range c.open {
			if other.calls.Load() <= other.auxiliary.Load() && (idlest == nil || other.active.Load() < idlest.active.Load()) {
				idlest = other
			}
		}
		if idlest == nil {
			c.mu.Unlock()
			added.lease.Release()
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
	return added
}
