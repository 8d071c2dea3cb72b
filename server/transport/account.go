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
	"github.com/crdeval/crdeval/server/call"
)

// callBytes is an estimate of the memory of a call without its messages: goroutines, headers, contexts.
const callBytes = 16 << 10

// accounts opens the leases of calls over a network, and charges responses. Health calls hold no memory.
type accounts struct {
	memory   *call.Memory // of calls over a network; nil: unlimited
	rejected func(reason string)
	max      int // bytes of a response of a call in this process
}

// open opens the lease of a call over a network.
func (a accounts) open(ctx context.Context) error {
	c := call.Of(ctx)
	c.Lease = a.memory.Open(c.Caller)
	if err := c.Lease.Grow(ctx, call.Request, callBytes); err != nil {
		c.Lease.Release()
		return a.failure(err)
	}
	return nil
}

// failure returns the error of a call for which there is no memory.
func (a accounts) failure(err error) error {
	if errors.Is(err, call.ErrNoMemory) {
		a.rejected(RejectedMemory)
	}
	return api.MemoryError(err)
}

// unary opens the lease of a call over a network. The response releases it.
func (a accounts) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if a.memory == nil || isProbe(info.FullMethod) {
		return handler(ctx, req)
	}
	if err := a.open(ctx); err != nil {
		return nil, err
	}
	lease := call.Of(ctx).Lease
	err := lease.Grow(ctx, call.Request, sizeOf(ctx, req))
	var reply any
	if err == nil {
		reply, err = handler(ctx, req)
	} else {
		err = a.failure(err)
	}
	m, ok := reply.(proto.Message)
	size := 0
	if err == nil && ok {
		size = proto.Size(m)
		if err = lease.Grow(ctx, call.Response, int64(size)); err != nil {
			err = a.failure(err)
		}
	}
	if err != nil || !ok {
		lease.Release()
		return reply, err
	}
	return newResponse(ctx, m, size, lease, 0), nil
}

// inner charges the response of a call in this process to the lease of its REST request, and bounds its size.
func (a accounts) inner(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	reply, err := handler(ctx, req)
	m, ok := reply.(proto.Message)
	if err != nil || !ok || isProbe(info.FullMethod) {
		return reply, err
	}
	size := proto.Size(m)
	if size > a.max {
		return nil, api.LimitExceeded("max_message_bytes", a.max,
			"the response has %d bytes and the limit max_message_bytes is %d: ask for less in a call", size, a.max)
	}
	if err := call.Of(ctx).Lease.Grow(ctx, call.Response, int64(size)); err != nil {
		return nil, a.failure(err)
	}
	return reply, nil
}

// sizeOf returns the size of a request.
func sizeOf(ctx context.Context, req any) int64 {
	if in := incomingOf(ctx); in != nil && in.size.Load() > 0 {
		return in.size.Load()
	}
	m, _ := req.(proto.Message)
	return int64(proto.Size(m))
}

// stream opens a lease for a stream, and one for each message that it sends.
func (a accounts) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if a.memory == nil || isProbe(info.FullMethod) {
		return handler(srv, ss)
	}
	if err := a.open(ss.Context()); err != nil {
		return err
	}
	defer call.Of(ss.Context()).Lease.Release()
	return handler(srv, &accountedStream{ServerStream: ss, of: a})
}

type accountedStream struct {
	grpc.ServerStream
	of accounts
}

// SendMsg implements grpc.ServerStream.
func (s *accountedStream) SendMsg(message any) error {
	m, ok := message.(proto.Message)
	if !ok {
		return s.ServerStream.SendMsg(message)
	}
	ctx := s.Context()
	lease, size := call.Of(ctx).Lease.Sibling(), proto.Size(m)
	if err := lease.Grow(ctx, call.Response, int64(size)); err != nil {
		lease.Release()
		return s.of.failure(err)
	}
	r := newResponse(ctx, m, size, lease, StreamPatience)
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
	lease    *call.Lease
	conn     *conn // nil: not over a conn
	patience time.Duration
	encoded  bool
	deadline time.Time // of the next progress of its connection; set when it is encoded

	waiting bool // guarded by conn.mu
}

func newResponse(ctx context.Context, m proto.Message, size int, lease *call.Lease, patience time.Duration) *response {
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
	r.lease.Keep(call.Response, int64(cap(data)))
	if r.conn != nil {
		r.deadline = time.Now().Add(WritePatience + r.patience)
		r.conn.add(r)
	}
	return mem.BufferSlice{mem.NewBuffer(buffer, r)}, nil
}
