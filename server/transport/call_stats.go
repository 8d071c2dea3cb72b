package transport

import (
	"context"
	"sync/atomic"

	"google.golang.org/grpc/stats"
)

// overhead is the minimum number of bytes that a message takes on the connection in addition to its own.
const overhead = 64

// connKey is the key of the *conn in the context of its calls.
type connKey struct{}

// connOf returns the connection of a call; nil if it is not over a conn.
func connOf(ctx context.Context) *conn {
	c, _ := ctx.Value(connKey{}).(*conn)
	return c
}

// connStats reports the calls and messages of gRPC to their conns.
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

// rpcState is the state of a call in connStats.
type rpcState struct {
	receiving, stream atomic.Bool
	received          atomic.Int64 // size of the last message
}

// rpcStateOf returns the state of a call; nil if it is not over a conn.
func rpcStateOf(ctx context.Context) *rpcState {
	state, _ := ctx.Value(rpcKey{}).(*rpcState)
	return state
}

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
	state := rpcStateOf(ctx)
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
		state.received.Store(int64(s.Length))
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
