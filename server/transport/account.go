package transport

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/crdeval/crdeval/server/api"
	"github.com/crdeval/crdeval/server/flow"
)

// callBytes is an estimate of the memory of a call without its messages: goroutines, headers, contexts.
const callBytes = 16 << 10

// accounts makes each call hold a lease of the memory ledger until its response is written. Health calls hold none.
type accounts struct {
	memory   *flow.Memory // nil: unlimited
	caller   func(context.Context) string
	rejected func(reason string)
	inner    bool // the calls are in the same process, so nothing is encoded
}

// open returns a context with the lease of a call. own is nil if the REST gateway has opened the lease, which then also
// releases it.
func (a accounts) open(ctx context.Context) (with context.Context, own *flow.Lease, err error) {
	if a.memory == nil || flow.LeaseOf(ctx) != nil {
		return ctx, nil, nil
	}
	own = a.memory.Open(a.caller(ctx))
	if err := own.Grow(ctx, flow.Request, callBytes); err != nil {
		own.Release()
		return ctx, nil, a.failure(err)
	}
	return flow.WithLease(ctx, own), own, nil
}

// failure returns the error of a call for which there is no memory.
func (a accounts) failure(err error) error {
	if errors.Is(err, flow.ErrNoMemory) {
		a.rejected(RejectedMemory)
	}
	return api.MemoryError(err)
}

func (a accounts) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if isProbe(info.FullMethod) {
		return handler(ctx, req)
	}
	ctx, own, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	lease := flow.LeaseOf(ctx)
	if own != nil {
		err = lease.Grow(ctx, flow.Request, sizeOf(ctx, req))
	}
	var reply any
	if err == nil {
		reply, err = handler(ctx, req)
	} else {
		err = a.failure(err)
	}
	m, ok := reply.(proto.Message)
	size := 0
	if err == nil && ok && lease != nil {
		size = proto.Size(m)
		if err = lease.Grow(ctx, flow.Response, int64(size)); err != nil {
			err = a.failure(err)
		}
	}
	switch {
	case own == nil:
		return reply, err
	case err != nil || !ok || a.inner:
		own.Release()
		return reply, err
	}
	return newResponse(ctx, m, size, own, 0), nil
}

// sizeOf returns the size of a request.
func sizeOf(ctx context.Context, req any) int64 {
	if state := rpcStateOf(ctx); state != nil {
		return state.received.Load()
	}
	m, _ := req.(proto.Message)
	return int64(proto.Size(m))
}

// stream opens a lease for a stream, and one for each message that it sends.
func (a accounts) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if isProbe(info.FullMethod) {
		return handler(srv, ss)
	}
	ctx, own, err := a.open(ss.Context())
	if err != nil {
		return err
	}
	if own == nil {
		return handler(srv, ss)
	}
	defer own.Release()
	if a.inner {
		return handler(srv, ss)
	}
	return handler(srv, &accountedStream{ServerStream: ss, ctx: ctx, of: a})
}

type accountedStream struct {
	grpc.ServerStream
	ctx context.Context //nolint:containedctx // a grpc.ServerStream has one
	of  accounts
}

// Context implements grpc.ServerStream.
func (s *accountedStream) Context() context.Context { return s.ctx }

// SendMsg implements grpc.ServerStream.
func (s *accountedStream) SendMsg(message any) error {
	m, ok := message.(proto.Message)
	if !ok {
		return s.ServerStream.SendMsg(message)
	}
	lease, size := s.of.memory.Open(s.of.caller(s.ctx)), proto.Size(m)
	if err := lease.Grow(s.ctx, flow.Response, int64(size)); err != nil {
		lease.Release()
		return s.of.failure(err)
	}
	r := newResponse(s.ctx, m, size, lease, StreamPatience)
	err := s.ServerStream.SendMsg(r)
	if !r.encoded {
		r.end()
	}
	return err
}

// A response is a message with a lease. It releases the lease when gRPC has written or dropped the encoded message, or
// when the connection closes.
type response struct {
	message  proto.Message
	size     int // of the message, and of its parts as cached by proto.Size
	lease    *flow.Lease
	conn     *conn // nil: not over a conn
	patience time.Duration
	encoded  bool
	deadline time.Time // of the next progress of its connection; set when it is encoded

	waiting bool // guarded by conn.mu
}

func newResponse(ctx context.Context, m proto.Message, size int, lease *flow.Lease, patience time.Duration) *response {
	return &response{message: m, size: size, lease: lease, conn: connOf(ctx), patience: patience}
}

// Get implements mem.BufferPool. Nothing allocates from a response.
func (r *response) Get(length int) *[]byte { return mem.DefaultBufferPool().Get(length) }

// Put implements mem.BufferPool. gRPC calls it when it does not need the encoded message anymore.
func (r *response) Put(buffer *[]byte) {
	mem.DefaultBufferPool().Put(buffer)
	if r.conn != nil {
		r.conn.remove(r)
	}
	r.end()
}

func (r *response) end() { r.lease.Release() }

// accountingCodec encodes responses so that their leases end when they are written.
type accountingCodec struct{ encoding.CodecV2 }

// minBuffer is the size above which gRPC returns a buffer to its pool.
const minBuffer = 1<<10 + 1

// Marshal implements encoding.CodecV2.
func (c accountingCodec) Marshal(v any) (mem.BufferSlice, error) {
	r, ok := v.(*response)
	if !ok {
		return c.CodecV2.Marshal(v)
	}
	r.encoded = true
	buffer := r.Get(max(r.size, minBuffer))
	data, err := proto.MarshalOptions{UseCachedSize: true}.MarshalAppend((*buffer)[:0], r.message)
	if err != nil {
		r.end()
		return nil, err
	}
	*buffer = data
	r.message = nil
	r.lease.Keep(flow.Response, int64(cap(data)))
	if r.conn != nil {
		r.deadline = time.Now().Add(WritePatience + r.patience)
		r.conn.add(r)
	}
	return mem.BufferSlice{mem.NewBuffer(buffer, r)}, nil
}
