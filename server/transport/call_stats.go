package transport

import (
	"context"

	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/stats"
)

// overhead is the minimum number of bytes that a message takes on the connection in addition to its own.
const overhead = 64

// connOf returns the connection of a call; nil if it is not over a conn.
func connOf(ctx context.Context) *conn {
	if p, ok := peer.FromContext(ctx); ok {
		if a, ok := p.Addr.(connAddr); ok {
			return a.conn
		}
	}
	return nil
}

// connStats reports the calls and messages of gRPC to their conns.
type connStats struct{}

// TagConn implements stats.Handler.
func (connStats) TagConn(ctx context.Context, info *stats.ConnTagInfo) context.Context {
	if a, ok := info.RemoteAddr.(connAddr); ok {
		a.conn.grpc.Store(true)
	}
	return ctx
}

// HandleConn implements stats.Handler.
func (connStats) HandleConn(context.Context, stats.ConnStats) {}

// TagRPC implements stats.Handler.
func (connStats) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// HandleRPC implements stats.Handler.
func (connStats) HandleRPC(ctx context.Context, s stats.RPCStats) {
	c, state := connOf(ctx), incomingOf(ctx)
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
		state.size.Store(int64(s.Length))
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
