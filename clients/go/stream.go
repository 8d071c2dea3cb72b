package crdeval

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// ReadOptions are the options of ReadItems and ReadStream. The zero value reads every object at its own version.
type ReadOptions struct {
	// Evaluation holds the evaluation options. Nil means the defaults of the server.
	Evaluation *crdevalv1.EvaluationOptions
	// TargetVersion is the version to read at. Default: each object's own.
	TargetVersion string
	// Include requests what to present in addition to each object. Nil requests nothing.
	Include *crdevalv1.PresentationOptions
}

// The limits of one message of a stream.
const (
	itemsAtOnce = 100
	bytesAtOnce = 1 << 20
)

// AdmitStream is Admit for any number of writes in bounded memory. Results come in the order of the items. AdmitStream
// stops reading items while the caller does not read results. Each message has the items that are ready, so a single item
// is answered immediately.
//
// An item that could not be evaluated has a Result with an Err and does not end the stream. An error that ends the
// stream is yielded last, with an empty Result: the error of ctx, or a gRPC status. The earlier results stay valid. The
// next item is the first without a result.
//
// AdmitStream reads items on another goroutine. If the caller ends the loop early, that goroutine ends at the next
// item. An iterator that may block for long must therefore observe ctx.
func (c *Client) AdmitStream(
	ctx context.Context, items iter.Seq[*crdevalv1.WriteItem], o AdmitOptions,
) iter.Seq2[Result, error] {
	first := &crdevalv1.AdmitStreamRequest{Context: contextOf(o.Evaluation), Stage: o.Stage, Include: o.Include}
	return stream(ctx, c, "admit", items, c.Evaluation().AdmitStream, first, (*crdevalv1.AdmitStreamResponse).GetResults,
		resultOf)
}

// ReadStream reads any number of objects as an API server reads them from storage. It works as AdmitStream does.
func (c *Client) ReadStream(
	ctx context.Context, items iter.Seq[*crdevalv1.ObjectItem], o ReadOptions,
) iter.Seq2[Transformed, error] {
	first := &crdevalv1.ReadStreamRequest{Context: contextOf(o.Evaluation), TargetVersion: o.TargetVersion, Include: o.Include}
	return stream(ctx, c, "read", items, c.Evaluation().ReadStream, first, (*crdevalv1.ReadStreamResponse).GetResults,
		transformedOf)
}

// stream opens a stream with its first message, sends items and yields their results, up to the error that ends the
// stream. about is the name of the call for error texts.
func stream[I, Q, P, A, R any, E interface {
	*I
	proto.Message
}, M interface {
	*Q
	proto.Message
}](
	ctx context.Context, c *Client, about string, items iter.Seq[E],
	open func(context.Context, ...grpc.CallOption) (grpc.BidiStreamingClient[Q, P], error), first M,
	results func(*P) []A, convert func(A) R,
) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		first := proto.CloneOf(first) // each iteration completes its own
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		fail := func(err error) {
			var none R
			yield(none, fmt.Errorf("crdeval: %s: %w", about, err))
		}
		s, err := open(ctx)
		if err != nil {
			fail(err)
			return
		}
		c.complete(first)
		if err := s.Send(first); err != nil && !errors.Is(err, io.EOF) { // after EOF, receiving returns the cause
			fail(err)
			return
		}
		sent := send(ctx, items, s.CloseSend, func(batch []E) error {
			m := M(new(Q))
			setList(m.ProtoReflect(), "items", batch)
			return s.Send(m)
		})
		defer func() { cancel(); <-sent }()
		for {
			answer, err := s.Recv()
			if errors.Is(err, io.EOF) {
				if err = context.Cause(ctx); err == nil {
					return
				} // ctx may have ended before all items were sent
			}
			if err != nil {
				fail(err)
				return
			}
			for _, r := range results(answer) {
				if !yield(convert(r), nil) {
					return
				}
			}
		}
	}
}

// send sends items until they or ctx end. Each message has the items that are ready. The returned channel is closed
// after the last message.
func send[E proto.Message](
	ctx context.Context, items iter.Seq[E], end func() error,
	message func([]E) error,
) (ended <-chan struct{}) {
	ready, done := make(chan E, itemsAtOnce), make(chan struct{})
	go func() {
		defer close(ready)
		for item := range items {
			if ctx.Err() != nil {
				return
			}
			select {
			case ready <- item:
			case <-ctx.Done():
				return
			}
		}
	}()
	go func() {
		defer close(done)
		for {
			var item E
			more := false
			select {
			case item, more = <-ready:
			case <-ctx.Done():
			}
			if !more {
				_ = end() // it never fails
				return
			}
			batch, bytes := []E{item}, proto.Size(item)
			for len(ready) > 0 && len(batch) < itemsAtOnce && bytes < bytesAtOnce {
				item = <-ready
				batch, bytes = append(batch, item), bytes+proto.Size(item)
			}
			if message(batch) != nil { // receiving returns the cause
				return
			}
		}
	}()
	return done
}
