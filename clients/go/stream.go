package crdeval

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// ReadOptions shape ReadStream. The zero value reads every object at its own version.
type ReadOptions struct {
	// Evaluation are the options of every evaluation. Nil: the server's defaults.
	Evaluation *crdevalv1.EvaluationOptions
	// TargetVersion is the version to read at. Default: each object's own.
	TargetVersion string
	// Include is what is presented of each object. Nil: nothing.
	Include *crdevalv1.PresentationOptions
}

// TransformedResult is the outcome for one object of ReadStream: exactly one of the two is set.
type TransformedResult struct {
	// Transformed is what became of the object.
	Transformed *crdevalv1.TransformedObject
	// Err is a gRPC status: why crdeval could not evaluate the object.
	Err error
}

// What goes into one message of a stream.
const (
	itemsAtOnce = 100
	bytesAtOnce = 1 << 20
)

// AdmitStream is Admit for any number of writes (Write.Item makes items of them), in their order and in the memory of a few: nothing is taken from items while
// results wait to be looked at. Each message to the server has what items has ready, so that an item that comes alone is answered at once.
//
// An item that could not be evaluated is a Result with an Err and does not end the stream. What does is yielded last, with an empty Result: the error of ctx,
// or a gRPC status. The results before it stand; the item behind the last of them is the first without an answer.
//
// items is read on another goroutine. When the loop ends early, that goroutine ends with the next item: an iterator that may wait long has to heed ctx.
func (c *Client) AdmitStream(ctx context.Context, items iter.Seq[*crdevalv1.EvaluationItem], o AdmitOptions) iter.Seq2[Result, error] {
	return streamed(ctx, "admit", items, func(ctx context.Context) (conversation[Result], error) {
		s, err := c.Evaluation().AdmitStream(ctx)
		if err == nil {
			err = begun(s.Send(&crdevalv1.AdmitStreamRequest{
				Catalog: c.catalog, Options: o.Evaluation, AtLeast: c.atLeast(), Crds: c.overlay, Stage: o.Stage, Include: o.Include,
			}))
		}
		return conversation[Result]{
			send: func(items []*crdevalv1.EvaluationItem) error {
				return s.Send(&crdevalv1.AdmitStreamRequest{Items: items})
			},
			end: func() error { return s.CloseSend() },
			receive: func() ([]Result, error) {
				m, err := s.Recv()
				return results(m.GetResults()), err
			},
		}, err
	})
}

// ReadStream answers each of any number of objects as an API server reads it from its storage, as AdmitStream answers verdicts.
func (c *Client) ReadStream(ctx context.Context, items iter.Seq[*crdevalv1.EvaluationItem], o ReadOptions) iter.Seq2[TransformedResult, error] {
	return streamed(ctx, "read", items, func(ctx context.Context) (conversation[TransformedResult], error) {
		s, err := c.Evaluation().ReadStream(ctx)
		if err == nil {
			err = begun(s.Send(&crdevalv1.ReadStreamRequest{
				Catalog: c.catalog, Options: o.Evaluation, AtLeast: c.atLeast(), Crds: c.overlay, TargetVersion: o.TargetVersion, Include: o.Include,
			}))
		}
		return conversation[TransformedResult]{
			send: func(items []*crdevalv1.EvaluationItem) error {
				return s.Send(&crdevalv1.ReadStreamRequest{Items: items})
			},
			end: func() error { return s.CloseSend() },
			receive: func() ([]TransformedResult, error) {
				m, err := s.Recv()
				return transformed(m.GetResults()), err
			},
		}, err
	})
}

func transformed(list []*crdevalv1.TransformResult) []TransformedResult {
	all := make([]TransformedResult, len(list))
	for i, r := range list {
		all[i].Transformed = r.GetTransformed()
		if failed := r.GetError(); failed != nil {
			all[i].Err = status.FromProto(failed).Err()
		}
	}
	return all
}

// conversation is a stream whose first message was sent. R is what comes of an item.
type conversation[R any] struct {
	send    func([]*crdevalv1.EvaluationItem) error
	end     func() error // nothing more is sent
	receive func() ([]R, error)
}

// streamed begins a conversation, sends items and yields what comes of them, up to the error that ends it; about is the call's name in that.
func streamed[R any](ctx context.Context, about string, items iter.Seq[*crdevalv1.EvaluationItem], begin func(context.Context) (conversation[R], error)) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		var none R
		with, err := begin(ctx)
		if err != nil {
			yield(none, fmt.Errorf("crdeval: %s: %w", about, err))
			return
		}
		sent := send(ctx, items, with.end, with.send)
		defer func() { cancel(); <-sent }()
		for {
			all, err := with.receive()
			if errors.Is(err, io.EOF) {
				if err = context.Cause(ctx); err == nil {
					return
				} // of a stream that ctx may have cut off before all items were sent
			}
			if err != nil {
				yield(none, fmt.Errorf("crdeval: %s: %w", about, err))
				return
			}
			for _, r := range all {
				if !yield(r, nil) {
					return
				}
			}
		}
	}
}

// begun is the error of a stream's first message: one that could not be sent because the call has ended says so when something is received.
func begun(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// send sends items, as many at once as are ready, until they or ctx end. The channel is closed when nothing is sent any more.
func send(ctx context.Context, items iter.Seq[*crdevalv1.EvaluationItem], end func() error, message func([]*crdevalv1.EvaluationItem) error) (ended <-chan struct{}) {
	ready, done := make(chan *crdevalv1.EvaluationItem, itemsAtOnce), make(chan struct{})
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
			batch, more := take(ctx, ready)
			if len(batch) > 0 && message(batch) != nil { // why is what receiving says
				return
			}
			if !more {
				_ = end() // it never fails
				return
			}
		}
	}()
	return done
}

// take waits for an item and takes it with those that are ready, up to what goes into a message.
func take(ctx context.Context, ready <-chan *crdevalv1.EvaluationItem) (batch []*crdevalv1.EvaluationItem, more bool) {
	bytes := 0
	for len(batch) < itemsAtOnce && bytes < bytesAtOnce {
		var item *crdevalv1.EvaluationItem
		if len(batch) == 0 {
			select {
			case item, more = <-ready:
			case <-ctx.Done():
				return nil, false
			}
		} else {
			select {
			case item, more = <-ready:
			default:
				return batch, true
			}
		}
		if !more {
			return batch, false
		}
		batch = append(batch, item)
		bytes += proto.Size(item)
	}
	return batch, true
}
