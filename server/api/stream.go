package api

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/crdeval/crdeval/engine/host"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/call"
	"github.com/crdeval/crdeval/server/registry"
)

// AdmitStream returns the verdict on each write of a stream.
func (s *evaluationService) AdmitStream(g grpc.BidiStreamingServer[crdevalv1.AdmitStreamRequest, crdevalv1.AdmitStreamResponse]) error {
	return serveStream(s, g, streamKind[*crdevalv1.AdmitStreamRequest, *crdevalv1.WriteItem, crdevalv1.VerdictResult]{
		receive: g.Recv,
		setOptions: func(b *batch, first *crdevalv1.AdmitStreamRequest) error {
			return b.setAdmission(first.GetStage(), first.GetInclude())
		},
		evaluator: admitting,
		send: func(first int64, results []*crdevalv1.VerdictResult) error {
			return g.Send(&crdevalv1.AdmitStreamResponse{FirstIndex: first, Results: results})
		},
	})
}

// ReadStream returns each object of a stream as an API server reads it from its storage.
func (s *evaluationService) ReadStream(g grpc.BidiStreamingServer[crdevalv1.ReadStreamRequest, crdevalv1.ReadStreamResponse]) error {
	return serveStream(s, g, streamKind[*crdevalv1.ReadStreamRequest, *crdevalv1.ObjectItem, crdevalv1.TransformResult]{
		receive: g.Recv,
		setOptions: func(b *batch, first *crdevalv1.ReadStreamRequest) error {
			b.options.targetVersion = first.GetTargetVersion()
			return b.setInclude(first.GetInclude())
		},
		evaluator: transforming(read),
		send: func(first int64, results []*crdevalv1.TransformResult) error {
			return g.Send(&crdevalv1.ReadStreamResponse{FirstIndex: first, Results: results})
		},
	})
}

// streamKind has what differs between the streams. M is a message of requests, I that of an item, R that of a result.
type streamKind[M streamRequest[I], I item, R any] struct {
	evaluator[I, R]
	receive    func() (M, error)
	setOptions func(b *batch, first M) error // sets the options that only this kind has
	send       func(first int64, results []*R) error
}

type streamRequest[I item] interface {
	evaluation[I]
	proto.Message
}

// A stream is a call of AdmitStream, ReadStream or a stream of ApiServerService. One goroutine receives a message, evaluates its items and sends the
// results before it receives the next message, which waits in the connection. Each additional goroutine would add tens of
// microseconds to the latency of an item.
type stream[M streamRequest[I], I item, R any] struct {
	streamKind[M, I, R]
	service    *evaluationService
	slot       *streamSlot
	opened     *batch        // that of the first message, with the options of all
	next       int64         // the index of the next item
	evaluating sync.Mutex    // held while items are evaluated
	closing    atomic.Bool   // the server drains: no more messages are received
	state      atomic.Uint32 // streamBusy, streamReceiving or streamEnded
}

const (
	streamBusy uint32 = iota // with a message
	streamReceiving
	streamEnded // no message is answered anymore
)

// A chunk has the items of one message and their results.
type chunk[I item, R any] struct {
	*batch        // its budget bounds the results that wait
	first   int64 // the index of the first item
	items   []I
	results []*R
	failed  []error // by item: the error of a result that does not fit in the budget
}

// serveStream serves a stream from its first message to its end.
func serveStream[M streamRequest[I], I item, R, Req, Res any](
	s *evaluationService, g grpc.BidiStreamingServer[Req, Res], kind streamKind[M, I, R],
) error {
	ctx := g.Context()
	slot, err := s.streams.take(ctx)
	if err != nil {
		return err
	}
	defer slot.release()
	first, err := receiveFirst(slot, kind.receive)
	if errors.Is(err, io.EOF) {
		return invalid("context", "the stream ended before its first message: send one with the context")
	}
	if err != nil {
		return err
	}
	t := &stream[M, I, R]{streamKind: kind, service: s, slot: slot}
	if t.opened, err = open(ctx, s, first); err != nil {
		return err
	}
	if err := t.setOptions(t.opened, first); err != nil {
		return err
	}
	// The header tells the caller that the first message was accepted.
	if err := g.SendHeader(nil); err != nil {
		return err
	}
	err = t.run(ctx, first)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// receiveFirst receives the first message, unless the server drains or the slot is lost before.
func receiveFirst[M any](slot *streamSlot, receive func() (M, error)) (first M, err error) {
	received := make(chan struct{})
	var m M
	var failed error
	go func() { // ends with the call at the latest
		defer close(received)
		defer host.Recover(&failed)
		m, failed = receive()
	}()
	select {
	case <-received:
		slot.touch()
		slot.begun.Store(failed == nil)
		return m, failed
	case <-slot.of.draining:
		return first, errStreamDraining
	case err := <-slot.lost:
		return first, err
	}
}

// run answers messages until the stream ends, the server drains or the slot is lost.
func (t *stream[M, I, R]) run(ctx context.Context, first M) error {
	running, stop := context.WithCancelCause(ctx)
	defer func() {
		stop(nil)
		_ = t.unlessEnded(running, func() error { return nil }) // waits for the current evaluation: no other one starts, because running has ended
	}()
	ended := make(chan error, 1)
	// Only the end of the call unblocks a goroutine that receives or sends.
	go func() { ended <- t.answerAll(running, first) }()
	draining := t.service.streams.draining
	for {
		select {
		case err := <-ended:
			return err
		case err := <-t.slot.lost:
			return err
		case <-ctx.Done(): // also without the end of the connection, for example when access is revoked
			return context.Cause(ctx)
		case <-draining:
			draining = nil
			if t.closing.Store(true); t.state.CompareAndSwap(streamReceiving, streamEnded) {
				return errStreamDraining
			}
		}
	}
}

// answerAll answers the first message and those that it receives.
func (t *stream[M, I, R]) answerAll(ctx context.Context, m M) (err error) {
	defer host.Recover(&err)
	view := t.opened.view
	for {
		if err := t.answer(ctx, m, view); err != nil {
			return err
		}
		t.state.Store(streamReceiving)
		if t.closing.Load() {
			return errStreamDraining
		}
		if err := t.service.streams.waitForMemory(ctx); err != nil {
			return err
		}
		m, err = t.receive()
		if !t.state.CompareAndSwap(streamReceiving, streamBusy) {
			return errStreamDraining
		}
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		t.slot.touch()
		if view, err = t.check(ctx, m); err != nil {
			return err
		}
	}
}

// check checks a message after the first. It returns the current view of the catalog, which its items use.
func (t *stream[M, I, R]) check(ctx context.Context, m M) (registry.View, error) {
	switch {
	case !hasOnlyItems(m):
		return nil, invalid("items", "a message after the first must have items only: the first message sets the other fields for the whole stream")
	case len(m.GetItems()) == 0:
		return nil, invalid("items", "a message after the first has no items: send 1 to %d", maxStreamItems)
	}
	return openView(ctx, t.service.registry, &crdevalv1.EvaluationContext{Catalog: t.opened.catalog}, t.opened.inlineCrds)
}

// hasOnlyItems reports whether a message has no other field than items.
func hasOnlyItems(m proto.Message) bool {
	only := true
	m.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		only = f.Name() == "items"
		return only
	})
	return only
}

// answer evaluates the items of a message and sends the results.
func (t *stream[M, I, R]) answer(ctx context.Context, m M, view registry.View) error {
	n, o := len(m.GetItems()), t.opened
	if n == 0 {
		return nil
	}
	c := &chunk[I, R]{
		batch: &batch{catalog: o.catalog, view: view, options: o.options, timeout: o.timeout, limits: o.limits, faults: o.faults},
		first: t.next, items: m.GetItems(), results: make([]*R, n), failed: make([]error, n),
	}
	c.budget.reset(min(maxStreamResultBytes, t.service.limits.MaxMessageBytes/2), 0)
	t.next += int64(n)
	if err := t.evaluateChunk(ctx, c); err != nil {
		return err
	}
	return t.sendChunk(ctx, c)
}

// evaluateChunk evaluates the items of a chunk.
func (t *stream[M, I, R]) evaluateChunk(ctx context.Context, c *chunk[I, R]) error {
	return t.unlessEnded(ctx, func() error {
		return c.run(ctx, t.service.scheduler, len(c.items), func(ctx context.Context, r *resolver, i int) (err error) {
			defer t.slot.touch()
			c.results[i], err = t.evaluate(c.batch, ctx, r, c.items[i])
			return err
		}, func(r *resolver, i int, err error) {
			if isBudgetError(err) {
				c.failed[i], c.results[i] = err, nil
			} else {
				c.results[i] = t.fail(c.itemStatus(ctx, c.addVersion(r, c.items[i], err)))
			}
		})
	})
}

// unlessEnded calls f unless ctx has ended. The call does not return before f.
func (t *stream[M, I, R]) unlessEnded(ctx context.Context, f func() error) error {
	t.evaluating.Lock()
	defer t.evaluating.Unlock()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return f()
}

// sendChunk sends the results of a chunk. It evaluates those that did not fit again and sends each in its own message.
func (t *stream[M, I, R]) sendChunk(ctx context.Context, c *chunk[I, R]) error {
	sent := 0
	for i, failed := range c.failed {
		if failed == nil {
			continue
		}
		if err := t.sendRange(c, sent, i); err != nil {
			return err
		}
		c.budget.reset(t.service.limits.MaxMessageBytes, 0)
		if err := t.evaluateAgain(ctx, c, i); err != nil {
			return err
		}
		if err := t.sendRange(c, i, i+1); err != nil {
			return err
		}
		sent = i + 1
	}
	return t.sendRange(c, sent, len(c.items))
}

// evaluateAgain evaluates an item of a chunk alone.
func (t *stream[M, I, R]) evaluateAgain(ctx context.Context, c *chunk[I, R], i int) error {
	return t.unlessEnded(ctx, func() error {
		r := resolver{view: c.view, limits: c.limits, origins: call.Of(ctx).Origins}
		if err := t.service.scheduler.Run(ctx, func(ctx context.Context) error {
			return c.evaluate(ctx, &r, i, func(ctx context.Context, r *resolver, i int) (err error) {
				c.results[i], err = t.evaluate(c.batch, ctx, r, c.items[i])
				return err
			})
		}); err != nil {
			c.results[i] = t.fail(c.itemStatus(ctx, c.addVersion(&r, c.items[i], err)))
		}
		return nil
	})
}

// sendRange sends some results of a chunk. It blocks while the caller does not read.
func (t *stream[M, I, R]) sendRange(c *chunk[I, R], from, to int) error {
	if from == to {
		return nil
	}
	defer t.slot.touch()
	return t.send(c.first+int64(from), c.results[from:to])
}
