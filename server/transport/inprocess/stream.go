package inprocess

import (
	"context"
	"io"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// stream is what the two ends of a streaming call share.
type stream struct {
	requests   chan any // closed by CloseSend
	responses  chan any
	mayEnd     bool // the client sends several messages, so that SendMsg reports the end of the call
	headerSent chan struct{}
	sendHeader sync.Once
	done       chan struct{} // closed when the handler has returned
	err        error         // of the handler; to be read when done is closed
}

func newStream(clientStreams bool) *stream {
	return &stream{
		requests: make(chan any, 1), responses: make(chan any, 1), mayEnd: clientStreams,
		headerSent: make(chan struct{}), done: make(chan struct{}),
	}
}

// serverStream is the handler's end.
type serverStream struct {
	*stream
	ctx context.Context //nolint:containedctx // a grpc.ServerStream has one
}

var _ grpc.ServerStream = (*serverStream)(nil)

// Context implements grpc.ServerStream.
func (s *serverStream) Context() context.Context { return s.ctx }

// SetHeader implements grpc.ServerStream.
func (*serverStream) SetHeader(metadata.MD) error { return nil }

// SendHeader implements grpc.ServerStream.
func (s *serverStream) SendHeader(metadata.MD) error {
	s.sendHeader.Do(func() { close(s.headerSent) })
	return nil
}

// SetTrailer implements grpc.ServerStream.
func (*serverStream) SetTrailer(metadata.MD) {}

// SendMsg implements grpc.ServerStream.
func (s *serverStream) SendMsg(m any) error {
	_ = s.SendHeader(nil)
	select {
	case s.responses <- m:
		return nil
	case <-s.ctx.Done():
		return statusError(s.ctx.Err())
	}
}

// RecvMsg implements grpc.ServerStream.
func (s *serverStream) RecvMsg(m any) error {
	select {
	case request, more := <-s.requests:
		if !more {
			return io.EOF
		}
		return alias(m, request)
	case <-s.ctx.Done():
		return statusError(s.ctx.Err())
	}
}

// clientStream is the caller's end.
type clientStream struct {
	*stream
	ctx context.Context //nolint:containedctx // a grpc.ClientStream has one
}

var _ grpc.ClientStream = (*clientStream)(nil)

// Context implements grpc.ClientStream.
func (s *clientStream) Context() context.Context { return s.ctx }

// Header implements grpc.ClientStream. It returns an empty header, or nil and no error if the call ends without one.
func (s *clientStream) Header() (metadata.MD, error) {
	select {
	case <-s.headerSent:
	case <-s.done:
	case <-s.ctx.Done():
		return nil, statusError(s.ctx.Err())
	}
	select {
	case <-s.headerSent:
		return metadata.MD{}, nil
	default:
		return nil, nil //nolint:nilnil // as of a call over a connection
	}
}

// Trailer implements grpc.ClientStream.
func (*clientStream) Trailer() metadata.MD { return nil }

// CloseSend implements grpc.ClientStream. It is called once, and not beside SendMsg.
func (s *clientStream) CloseSend() error {
	close(s.requests)
	return nil
}

// SendMsg implements grpc.ClientStream. It returns io.EOF when the call has ended: RecvMsg returns why.
func (s *clientStream) SendMsg(m any) error {
	select {
	case s.requests <- m:
		return nil
	case <-s.done:
	case <-s.ctx.Done():
	}
	if s.mayEnd {
		return io.EOF
	}
	return nil // generated code expects the error of RecvMsg
}

// RecvMsg implements grpc.ClientStream.
func (s *clientStream) RecvMsg(m any) error {
	select {
	case response := <-s.responses:
		return alias(m, response)
	default:
	}
	select {
	case response := <-s.responses:
		return alias(m, response)
	case <-s.ctx.Done():
		return statusError(s.ctx.Err())
	case <-s.done:
	}
	select {
	case response := <-s.responses: // sent before the handler returned
		return alias(m, response)
	default:
	}
	if s.err != nil {
		return s.err
	}
	return io.EOF
}
