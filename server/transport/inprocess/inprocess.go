// Package inprocess calls gRPC services that run in the same process.
//
// A Conn takes the place of a client connection and of a server: it runs the handlers registered with it behind the
// server's interceptors. Callers and handlers share the memory of messages, which are not serialised or copied: neither
// may change a message that it has passed. A Conn passes neither metadata, which the call.Call of the context replaces, nor
// headers and trailers, because no handler sets any.
package inprocess

import (
	"context"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/crdeval/crdeval/server/call"
)

// Options configure New. The zero value calls handlers directly.
type Options struct {
	Unary  []grpc.UnaryServerInterceptor  // the first is the outermost
	Stream []grpc.StreamServerInterceptor // the first is the outermost
	Stats  stats.Handler                  // sees the begin and the end of each call; nil: none
}

// Conn is a grpc.ServiceRegistrar and a grpc.ClientConnInterface. Services are registered before the first call. It is
// safe for concurrent use.
type Conn struct {
	options Options
	unary   map[string]unaryMethod
	streams map[string]streamMethod
	stopped context.Context //nolint:containedctx // ends with the Conn, not with a call
	stop    context.CancelFunc
	running sync.WaitGroup // the handlers of streams
}

var (
	_ grpc.ServiceRegistrar    = (*Conn)(nil)
	_ grpc.ClientConnInterface = (*Conn)(nil)
)

type unaryMethod struct {
	service any
	desc    grpc.MethodDesc
}

type streamMethod struct {
	service any
	desc    grpc.StreamDesc
}

// New returns a Conn without services.
func New(o Options) *Conn {
	c := &Conn{options: o, unary: map[string]unaryMethod{}, streams: map[string]streamMethod{}}
	c.stopped, c.stop = context.WithCancel(context.Background())
	return c
}

// RegisterService implements grpc.ServiceRegistrar.
func (c *Conn) RegisterService(desc *grpc.ServiceDesc, service any) {
	for _, m := range desc.Methods {
		c.unary["/"+desc.ServiceName+"/"+m.MethodName] = unaryMethod{service, m}
	}
	for _, s := range desc.Streams {
		c.streams["/"+desc.ServiceName+"/"+s.StreamName] = streamMethod{service, s}
	}
}

// Stop cancels all streams and waits until their handlers return. Unary calls end with their callers' contexts.
func (c *Conn) Stop() {
	c.stop()
	c.running.Wait()
}

// Invoke implements grpc.ClientConnInterface. It runs the handler on the caller's goroutine.
func (c *Conn) Invoke(ctx context.Context, method string, request, response any, _ ...grpc.CallOption) error {
	m, ok := c.unary[method]
	if !ok {
		return status.Errorf(codes.Unimplemented, "unknown method %s", method)
	}
	return Run(ctx, c.options.Stats, method, func(ctx context.Context) error {
		decode := func(into any) error { return alias(into, request) }
		result, err := m.desc.Handler(m.service, ctx, decode, c.intercept)
		if err != nil {
			return err
		}
		return alias(response, result)
	})
}

// Run runs f as a unary call, on the caller's goroutine and without interceptors. It reports the begin and the end of the
// call to h, which may be nil. Errors are statuses.
func Run(ctx context.Context, h stats.Handler, name string, f func(context.Context) error) error {
	ctx, cancel := context.WithCancel(serverContext(ctx, h, name))
	defer cancel()
	end := begin(ctx, h, false, false)
	err := f(ctx)
	if err != nil {
		err = statusError(err)
	}
	end(err)
	return err
}

// intercept runs a unary handler behind the interceptors.
func (c *Conn) intercept(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	for _, interceptor := range slices.Backward(c.options.Unary) {
		next := handler
		handler = func(ctx context.Context, request any) (any, error) { return interceptor(ctx, request, info, next) }
	}
	return handler(ctx, request)
}

// serverContext returns the context of a handler. It has no metadata: a handler must not send that of grpc-gateway, which
// has the caller's token, to other servers.
func serverContext(ctx context.Context, h stats.Handler, method string) context.Context {
	ctx = metadata.NewOutgoingContext(ctx, nil)
	of := *call.Of(ctx)
	of.Method = method
	ctx = call.With(ctx, &of)
	if h != nil {
		ctx = h.TagRPC(ctx, &stats.RPCTagInfo{FullMethodName: method})
	}
	return ctx
}

// begin reports the begin of a call to h. The function that it returns reports the end.
func begin(ctx context.Context, h stats.Handler, clientStream, serverStream bool) (end func(error)) {
	if h == nil {
		return func(error) {}
	}
	start := time.Now()
	h.HandleRPC(ctx, &stats.Begin{BeginTime: start, IsClientStream: clientStream, IsServerStream: serverStream})
	return func(err error) { h.HandleRPC(ctx, &stats.End{BeginTime: start, EndTime: time.Now(), Error: err}) }
}

// statusError returns err as a gRPC server sends it.
func statusError(err error) error {
	if err == nil {
		return nil
	}
	if s, ok := status.FromError(err); ok {
		return s.Err()
	}
	return status.FromContextError(err).Err()
}

// alias sets the fields of the message into, which is empty, to those of from. They share lists, messages and bytes.
func alias(into, from any) error {
	to, ok := into.(proto.Message)
	source, also := from.(proto.Message)
	if !ok || !also || to.ProtoReflect().Descriptor() != source.ProtoReflect().Descriptor() {
		return status.Errorf(codes.Internal, "a %T cannot be passed as a %T", from, into)
	}
	target := to.ProtoReflect()
	source.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		target.Set(f, v)
		return true
	})
	target.SetUnknown(source.ProtoReflect().GetUnknown())
	return nil
}

// Registrar registers each service with all of several servers.
type Registrar []grpc.ServiceRegistrar

// RegisterService implements grpc.ServiceRegistrar.
func (r Registrar) RegisterService(desc *grpc.ServiceDesc, service any) {
	for _, each := range r {
		each.RegisterService(desc, service)
	}
}

// NewStream implements grpc.ClientConnInterface. The handler runs on a goroutine of its own until it returns.
func (c *Conn) NewStream(ctx context.Context, _ *grpc.StreamDesc, method string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	m, ok := c.streams[method]
	if !ok {
		return nil, status.Errorf(codes.Unimplemented, "unknown method %s", method)
	}
	s := newStream(m.desc.ClientStreams)
	serving, cancel := context.WithCancel(serverContext(ctx, c.options.Stats, method))
	unhook := context.AfterFunc(c.stopped, cancel)
	server := &serverStream{stream: s, ctx: serving}
	c.running.Go(func() {
		end := begin(serving, c.options.Stats, m.desc.ClientStreams, m.desc.ServerStreams)
		info := &grpc.StreamServerInfo{FullMethod: method, IsClientStream: m.desc.ClientStreams, IsServerStream: m.desc.ServerStreams}
		handler := m.desc.Handler
		for _, interceptor := range slices.Backward(c.options.Stream) {
			next := handler
			handler = func(service any, g grpc.ServerStream) error { return interceptor(service, g, info, next) }
		}
		s.err = statusError(handler(m.service, server))
		end(s.err)
		unhook()
		cancel() // before the caller learns of the end
		close(s.done)
	})
	return &clientStream{stream: s, ctx: ctx}, nil
}
