package crdeval

import (
	"context"
	"encoding/binary"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// MultiplexOptions configure WithMultiplexing. The zero value has the defaults.
type MultiplexOptions struct {
	// MaxStreams bounds the streams that are open at the same time. Calls with equal options share one stream. If all
	// streams are in use, further calls are sent as unary calls. Default: 8.
	MaxStreams int
	// IdleTimeout is the time without calls after which a stream is closed. The server may end streams that are idle for
	// a minute. Default: 30 s.
	IdleTimeout time.Duration
}

// WithMultiplexing sends concurrent calls of Admit, Read, DecodeBody and ValidateDecoded that have one item over shared
// streams, which costs less CPU time than unary calls. Calls that wait at the same time are sent in one message. A single call is sent immediately.
//
// A call returns when its result arrives or its context ends. A slow item delays the items in the same message and the
// items behind it. If a stream returns no result for 200 ms or fails, its calls are repeated as unary calls, and their
// errors are those of unary calls. The server does not know the deadline of a call on a stream.
//
// These calls stay unary: calls with several items, with inline CRDs, with table rows, with an item of more than
// 256 KiB, with outgoing metadata, or with call options. Unary interceptors do not see calls on streams.
func WithMultiplexing(o MultiplexOptions) Option {
	return func(s *settings) { s.multiplex = &o }
}

func (o MultiplexOptions) withDefaults() MultiplexOptions {
	if o.MaxStreams == 0 {
		o.MaxStreams = 8
	}
	if o.IdleTimeout == 0 {
		o.IdleTimeout = 30 * time.Second
	}
	return o
}

// maxSharedItem is the maximum size of an item in bytes on a shared stream. Larger items would delay others.
const maxSharedItem = 256 << 10

// multiplexer is a connection that sends calls with one item over shared streams.
type multiplexer struct {
	grpc.ClientConnInterface
	options MultiplexOptions
	ctx     context.Context // that of all streams
	cancel  context.CancelFunc
	running sync.WaitGroup // the streams

	mu      sync.Mutex
	streams map[string]*sharedStream // by kind and settings; a failed stream stays until it is replaced
}

func newMultiplexer(conn grpc.ClientConnInterface, o MultiplexOptions) *multiplexer {
	m := &multiplexer{ClientConnInterface: conn, options: o.withDefaults(), streams: map[string]*sharedStream{}}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	return m
}

// close ends all streams and waits for their goroutines.
func (m *multiplexer) close() {
	m.mu.Lock()
	m.cancel()
	m.mu.Unlock()
	m.running.Wait()
}

// Invoke implements grpc.ClientConnInterface.
func (m *multiplexer) Invoke(ctx context.Context, method string, args, reply any, options ...grpc.CallOption) error {
	if c, first := newSharedCall(args, reply); c != nil && isPlain(ctx, options) {
		if s := m.enqueue(c, first); s != nil {
			select {
			case result := <-c.done:
				if result != nil {
					c.kind.setReply(reply, result)
					return nil
				}
			case <-ctx.Done():
				s.drop(c)
				return status.FromContextError(ctx.Err()).Err()
			}
		}
	}
	return m.ClientConnInterface.Invoke(ctx, method, args, reply, options...)
}

// isPlain reports whether a call has neither metadata nor options of its own, and is not over yet.
func isPlain(ctx context.Context, options []grpc.CallOption) bool {
	for _, o := range options {
		if _, ok := o.(grpc.StaticMethodCallOption); !ok { // generated stubs set this one
			return false
		}
	}
	_, has := metadata.FromOutgoingContext(ctx)
	return !has && ctx.Err() == nil
}

// enqueue adds a call to the stream with its settings. It returns nil if the call must be unary.
func (m *multiplexer) enqueue(c *sharedCall, first proto.Message) *sharedStream {
	settings, err := proto.MarshalOptions{Deterministic: true}.Marshal(first)
	if err != nil {
		return nil // a unary call returns the error
	}
	key := c.kind.name + string(settings)
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.streams[key]
	if s == nil || s.isClosed() {
		if s = m.open(key, c.kind, first, s); s == nil {
			return nil
		}
	}
	if !s.add(c) {
		return nil
	}
	return s
}

// open opens a stream instead of the failed one before, if there is one. It returns nil if all streams are in use, or if
// the stream before failed a short time ago.
func (m *multiplexer) open(key string, kind *sharedKind, first proto.Message, before *sharedStream) *sharedStream {
	if m.ctx.Err() != nil {
		return nil
	}
	s := &sharedStream{kind: kind, owner: m, key: key, wake: make(chan struct{}, 1), pause: firstPause}
	switch {
	case before != nil:
		if time.Now().Before(before.retryAt) {
			return nil
		}
		s.pause = before.nextPause
	case len(m.streams) >= m.options.MaxStreams && !m.evict():
		return nil
	}
	s.first = proto.Clone(first) // callers may change their options
	m.streams[key] = s
	m.running.Go(s.run)
	return s
}

// evict removes the stream that had no calls for the longest time. It reports whether there was one.
func (m *multiplexer) evict() bool {
	var oldest *sharedStream
	var since time.Time
	for _, s := range m.streams {
		if idle, used := s.idleSince(); idle && (oldest == nil || used.Before(since)) {
			oldest, since = s, used
		}
	}
	if oldest == nil {
		return false
	}
	delete(m.streams, oldest.key)
	oldest.close()
	return true
}

// retire closes a stream that is idle.
func (m *multiplexer) retire(s *sharedStream) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if idle, _ := s.idleSince(); idle && m.streams[s.key] == s {
		delete(m.streams, s.key)
		s.close()
	}
}

// sharedKind is what differs between the shared streams of several methods.
type sharedKind struct {
	name     string
	open     func(context.Context, grpc.ClientConnInterface) (grpc.ClientStream, error)
	message  func(items []byte) proto.Message // items are encoded as in the message
	receive  func(grpc.ClientStream) (first int64, results []proto.Message, err error)
	setReply func(reply any, result proto.Message)
}

// newSharedKind returns a kind of streams. C is the stub that opens them, Req and Res are their messages, R is a result,
// and Reply the response of a unary call.
func newSharedKind[C, Req, Res, Reply any, R proto.Message](
	name string, stub func(grpc.ClientConnInterface) C,
	open func(C, context.Context, ...grpc.CallOption) (grpc.BidiStreamingClient[Req, Res], error),
	firstIndex func(*Res) int64, results func(*Res) []R, setResults func(*Reply, []R),
) *sharedKind {
	return &sharedKind{
		name: name,
		open: func(ctx context.Context, conn grpc.ClientConnInterface) (grpc.ClientStream, error) {
			return open(stub(conn), ctx)
		},
		message: func(items []byte) proto.Message { return encoded(any(new(Req)).(proto.Message), items) },
		receive: func(s grpc.ClientStream) (int64, []proto.Message, error) {
			m := new(Res)
			err := s.RecvMsg(m)
			return firstIndex(m), messages(results(m)), err
		},
		setReply: func(reply any, result proto.Message) { setResults(reply.(*Reply), []R{result.(R)}) },
	}
}

var (
	sharedAdmit = newSharedKind("admit ", crdevalv1.NewEvaluationServiceClient, crdevalv1.EvaluationServiceClient.AdmitStream,
		(*crdevalv1.AdmitStreamResponse).GetFirstIndex, (*crdevalv1.AdmitStreamResponse).GetResults,
		func(r *crdevalv1.AdmitResponse, results []*crdevalv1.VerdictResult) { r.Results = results })
	sharedRead = newSharedKind("read ", crdevalv1.NewEvaluationServiceClient, crdevalv1.EvaluationServiceClient.ReadStream,
		(*crdevalv1.ReadStreamResponse).GetFirstIndex, (*crdevalv1.ReadStreamResponse).GetResults,
		func(r *crdevalv1.ReadResponse, results []*crdevalv1.TransformResult) { r.Results = results })
	sharedBody = newSharedKind("body ", crdevalv1.NewApiServerServiceClient, crdevalv1.ApiServerServiceClient.DecodeBodyStream,
		(*crdevalv1.DecodeBodyStreamResponse).GetFirstIndex, (*crdevalv1.DecodeBodyStreamResponse).GetResults,
		func(r *crdevalv1.DecodeBodyResponse, results []*crdevalv1.DecodeBodyResult) { r.Results = results })
	sharedDecoded = newSharedKind("decoded ", crdevalv1.NewApiServerServiceClient, crdevalv1.ApiServerServiceClient.ValidateDecodedStream,
		(*crdevalv1.ValidateDecodedStreamResponse).GetFirstIndex, (*crdevalv1.ValidateDecodedStreamResponse).GetResults,
		func(r *crdevalv1.ValidateDecodedResponse, results []*crdevalv1.ValidateDecodedResult) {
			r.Results = results
		})
)

// itemsField is the number of the field items in the messages of all streams.
const itemsField = 2

// encoded returns a message whose fields are encoded already.
func encoded(m proto.Message, fields []byte) proto.Message {
	m.ProtoReflect().SetUnknown(fields)
	return m
}

func messages[M proto.Message](list []M) []proto.Message {
	return mapped(list, func(m M) proto.Message { return m })
}

// sharedCall is a call on a shared stream.
type sharedCall struct {
	kind *sharedKind
	item []byte             // encoded as in a message: callers may change theirs as soon as they return
	last bool               // the last call of its message
	done chan proto.Message // receives the result, or nil if the call must be repeated; has capacity for it
}

// newSharedCall returns a call and the first message of its stream. It returns nil for calls that must be unary.
func newSharedCall(args, reply any) (*sharedCall, proto.Message) {
	var c sharedCall
	var about *crdevalv1.EvaluationContext
	var item, first proto.Message
	var include *crdevalv1.PresentationOptions
	switch r := args.(type) {
	case *crdevalv1.AdmitRequest:
		if _, ok := reply.(*crdevalv1.AdmitResponse); !ok {
			return nil, nil
		}
		c.kind, about, item, include = sharedAdmit, r.GetContext(), onlyOf(r.GetItems()), r.GetInclude()
		first = &crdevalv1.AdmitStreamRequest{Context: about, Stage: r.GetStage(), Include: include}
	case *crdevalv1.ReadRequest:
		if _, ok := reply.(*crdevalv1.ReadResponse); !ok {
			return nil, nil
		}
		c.kind, about, item, include = sharedRead, r.GetContext(), onlyOf(r.GetItems()), r.GetInclude()
		first = &crdevalv1.ReadStreamRequest{Context: about, TargetVersion: r.GetTargetVersion(), Include: include}
	case *crdevalv1.DecodeBodyRequest:
		if _, ok := reply.(*crdevalv1.DecodeBodyResponse); !ok {
			return nil, nil
		}
		c.kind, about, item = sharedBody, r.GetContext(), onlyOf(r.GetItems())
		first = &crdevalv1.DecodeBodyStreamRequest{Context: about}
	case *crdevalv1.ValidateDecodedRequest:
		if _, ok := reply.(*crdevalv1.ValidateDecodedResponse); !ok {
			return nil, nil
		}
		c.kind, about, item = sharedDecoded, r.GetContext(), onlyOf(r.GetItems())
		first = &crdevalv1.ValidateDecodedStreamRequest{Context: about}
	}
	// The ages in table rows refer to the beginning of a stream.
	if item == nil || len(about.GetCrds()) > 0 || include.GetTableRow() {
		return nil, nil
	}
	size := proto.Size(item)
	if size > maxSharedItem {
		return nil, nil
	}
	c.item = make([]byte, 0, size+2*binary.MaxVarintLen32)
	c.item = protowire.AppendTag(c.item, itemsField, protowire.BytesType)
	c.item = protowire.AppendVarint(c.item, uint64(size)) //nolint:gosec // not negative
	var err error
	if c.item, err = (proto.MarshalOptions{UseCachedSize: true}).MarshalAppend(c.item, item); err != nil {
		return nil, nil // a unary call returns the error
	}
	c.done = make(chan proto.Message, 1)
	return &c, first
}

// onlyOf returns the element of a list of one message, nil for another list.
func onlyOf[E interface {
	comparable
	proto.Message
}](list []E) proto.Message {
	var absent E
	if len(list) != 1 || list[0] == absent {
		return nil
	}
	return list[0]
}
