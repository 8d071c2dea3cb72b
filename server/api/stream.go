package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/registry"
)

// AdmitStream returns the verdict on each write of a stream.
func (s *evaluationService) AdmitStream(g grpc.BidiStreamingServer[crdevalv1.AdmitStreamRequest, crdevalv1.AdmitStreamResponse]) error {
	return serveStream(s, g, streamKind[*crdevalv1.AdmitStreamRequest, crdevalv1.VerdictResult]{
		receive: g.Recv,
		setOptions: func(b *batch, first *crdevalv1.AdmitStreamRequest) error {
			return b.setAdmission(first.GetStage(), first.GetInclude())
		},
		hasOptions: func(m *crdevalv1.AdmitStreamRequest) bool { return m.GetStage() != 0 || m.GetInclude() != nil },
		evaluator:  judging((*engine.Definition).Admit),
		send: func(first int64, results []*crdevalv1.VerdictResult) error {
			return g.Send(&crdevalv1.AdmitStreamResponse{FirstIndex: first, Results: results})
		},
	})
}

// ReadStream returns each object of a stream as an API server reads it from its storage.
func (s *evaluationService) ReadStream(g grpc.BidiStreamingServer[crdevalv1.ReadStreamRequest, crdevalv1.ReadStreamResponse]) error {
	return serveStream(s, g, streamKind[*crdevalv1.ReadStreamRequest, crdevalv1.TransformResult]{
		receive: g.Recv,
		setOptions: func(b *batch, first *crdevalv1.ReadStreamRequest) error {
			b.options.TargetVersion = first.GetTargetVersion()
			return b.setInclude(first.GetInclude())
		},
		hasOptions: func(m *crdevalv1.ReadStreamRequest) bool { return m.GetTargetVersion() != "" || m.GetInclude() != nil },
		evaluator:  transforming((*engine.Definition).Read),
		send: func(first int64, results []*crdevalv1.TransformResult) error {
			return g.Send(&crdevalv1.ReadStreamResponse{FirstIndex: first, Results: results})
		},
	})
}

// streamKind has what differs between AdmitStream and ReadStream. M is a message of requests, R that of a result.
type streamKind[M streamRequest, R any] struct {
	evaluator[R]
	receive    func() (M, error)
	setOptions func(b *batch, first M) error // sets the options that only this kind has
	hasOptions func(M) bool                  // reports whether a message has some of them
	send       func(first int64, results []*R) error
}

type streamRequest interface {
	evaluation
	proto.Message
}

// A stream is a call of AdmitStream or ReadStream. One goroutine receives messages, one evaluates their items, and one
// sends the results, all in the order of the items.
type stream[M streamRequest, R any] struct {
	streamKind[M, R]
	service   *evaluationService
	slot      *streamSlot
	opened    *batch // that of the first message, with the options of all
	window    *window
	received  chan *chunk[R] // closed after the last
	evaluated chan *chunk[R] // likewise
	next      int64          // the index of the next item
	closing   atomic.Bool    // rejects messages that are received from now on
	finished  atomic.Bool    // no message is received anymore
	ended     error          // why receiving ended, nil at the end of the stream; valid when received is closed
}

// A chunk has the items of one message and their results.
type chunk[R any] struct {
	*batch        // its budget bounds the results that wait
	first   int64 // the index of the first item
	bytes   int64 // of the message and the results
	results []*R
	failed  []error // by item: the error of a result that does not fit in the budget
}

// serveStream serves a stream from its first message to its end.
func serveStream[M streamRequest, R, Req, Res any](
	s *evaluationService, g grpc.BidiStreamingServer[Req, Res], kind streamKind[M, R],
) error {
	ctx := g.Context()
	slot, err := s.streams.take(ctx)
	if err != nil {
		return err
	}
	defer slot.release()
	first, err := receiveFirst(slot, kind.receive)
	if errors.Is(err, io.EOF) {
		return invalid("catalog", "the stream ended before its first message: send one with the catalog")
	}
	if err == nil {
		err = checkStreamItems(first)
	}
	if err != nil {
		return err
	}
	ctx = s.faults.withFlow(ctx, first)
	t := &stream[M, R]{
		streamKind: kind, service: s, slot: slot, window: newWindow(&s.streams.memory),
		received: make(chan *chunk[R], maxStreamWindow), evaluated: make(chan *chunk[R]),
	}
	if t.opened, err = s.open(ctx, first); err != nil {
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
		defer recoverStream("receiving from", &failed)
		m, failed = receive()
	}()
	select {
	case <-received:
		slot.touch()
		return m, failed
	case <-slot.of.draining:
		return first, errStreamDraining
	case err := <-slot.lost:
		return first, err
	}
}

// run receives, evaluates and sends until one of them ends or the slot is lost.
func (t *stream[M, R]) run(ctx context.Context, first M) error {
	running, stop := context.WithCancelCause(ctx)
	var evaluating, others sync.WaitGroup
	defer func() {
		stop(nil)
		evaluating.Wait()
		// Receiving and sending may end only after the call: nothing else unblocks them.
		go func() {
			others.Wait()
			t.window.close()
		}()
	}()
	evaluating.Go(func() { t.evaluateAll(running) })
	others.Go(func() { t.receiveAll(running, first) })
	sent := make(chan error, 1)
	others.Go(func() { sent <- t.sendAll(running) })
	select {
	case err := <-sent:
		return err
	case err := <-t.slot.lost:
		return err
	}
}

// receiveAll receives messages, each when the window allows it.
func (t *stream[M, R]) receiveAll(ctx context.Context, first M) {
	defer close(t.received)
	defer t.finished.Store(true)
	defer recoverStream("receiving from", &t.ended)
	t.enqueue(first, t.opened.view)
	for t.ended == nil {
		if t.ended = t.window.wait(ctx); t.ended != nil {
			return
		}
		m, err := t.receive()
		switch {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			t.ended = err
		case t.closing.Load():
			t.ended = errStreamDraining
		default:
			t.slot.touch()
			t.ended = t.accept(ctx, m)
		}
	}
}

// accept checks a message after the first and enqueues its items. They use the current view of the catalog.
func (t *stream[M, R]) accept(ctx context.Context, m M) error {
	switch {
	case m.GetCatalog() != "" || m.GetOptions() != nil || len(m.GetCrds()) > 0 || m.GetAtLeast() != "" || t.hasOptions(m):
		return invalid("items", "a message after the first must have items only: the first message sets the other fields for the whole stream")
	case len(m.GetItems()) == 0:
		return invalid("items", "a message after the first has no items: send 1 to %d", maxStreamItems)
	}
	if err := checkStreamItems(m); err != nil {
		return err
	}
	view, err := openView(ctx, t.service.registry, t.opened.catalog, "", t.opened.inlineCrds)
	if err != nil {
		return err
	}
	t.enqueue(m, view)
	return nil
}

func checkStreamItems(m streamRequest) error {
	return checkLength(m.GetItems(), "items in a message", "max_stream_items", maxStreamItems)
}

// enqueue passes the items of a message on. It does not block: received has capacity for the whole window.
func (t *stream[M, R]) enqueue(m M, view registry.View) {
	n, o := len(m.GetItems()), t.opened
	if n == 0 {
		return
	}
	c := &chunk[R]{
		batch: &batch{catalog: o.catalog, view: view, items: m.GetItems(), options: o.options, timeout: o.timeout, limits: o.limits, faults: o.faults},
		first: t.next, bytes: int64(proto.Size(m)), results: make([]*R, n), failed: make([]error, n),
	}
	c.budget.reset(min(maxStreamResultBytes, t.service.limits.MaxMessageBytes/2), 0)
	t.next += int64(n)
	t.window.add(n, c.bytes)
	t.received <- c
}

// evaluateAll evaluates the items of all chunks.
func (t *stream[M, R]) evaluateAll(ctx context.Context) {
	for {
		var c *chunk[R]
		var more bool
		select {
		case c, more = <-t.received:
		case <-ctx.Done():
			return
		}
		if !more {
			close(t.evaluated)
			return
		}
		c.run(ctx, t.service.scheduler, func(ctx context.Context, r *resolver, i int) (err error) {
			defer t.slot.touch()
			c.results[i], err = t.evaluate(c.batch, ctx, r, c.items[i])
			return err
		}, func(i int, err error) {
			if isBudgetError(err) {
				c.failed[i], c.results[i] = err, nil
			} else {
				c.results[i] = t.fail(c.itemStatus(ctx, err))
			}
		})
		results := c.budget.used()
		c.bytes += results
		t.window.add(0, results)
		select {
		case t.evaluated <- c:
		case <-ctx.Done():
			return
		}
	}
}

// sendAll sends the results of all chunks, until there are no more or the server drains.
func (t *stream[M, R]) sendAll(ctx context.Context) (err error) {
	defer recoverStream("sending to", &err)
	draining := t.service.streams.draining
	for {
		if t.closing.Load() && !t.finished.Load() && t.window.items.Load() == 0 {
			return errStreamDraining
		}
		select {
		case <-draining:
			draining = nil
			t.closing.Store(true)
		case <-ctx.Done():
			return context.Cause(ctx)
		case c, more := <-t.evaluated:
			if !more {
				return t.ended
			}
			if err := t.sendChunk(ctx, c); err != nil {
				return err
			}
		}
	}
}

// sendChunk sends the results of a chunk. It evaluates those that did not fit again and sends each in its own message.
func (t *stream[M, R]) sendChunk(ctx context.Context, c *chunk[R]) error {
	sent := 0
	for i, failed := range c.failed {
		if failed == nil {
			continue
		}
		if err := t.sendRange(c, sent, i); err != nil {
			return err
		}
		c.budget.reset(t.service.limits.MaxMessageBytes, 0)
		r := resolver{view: c.view, limits: c.limits}
		if err := t.service.scheduler.Run(ctx, func(ctx context.Context) error {
			return c.evaluate(ctx, &r, i, func(ctx context.Context, r *resolver, i int) (err error) {
				c.results[i], err = t.evaluate(c.batch, ctx, r, c.items[i])
				return err
			})
		}); err != nil {
			c.results[i] = t.fail(c.itemStatus(ctx, c.addVersion(&r, c.items[i], err)))
		}
		result := c.budget.used()
		t.window.add(0, result)
		if err := t.sendRange(c, i, i+1); err != nil {
			return err
		}
		t.window.remove(0, result)
		sent = i + 1
	}
	if err := t.sendRange(c, sent, len(c.items)); err != nil {
		return err
	}
	t.window.remove(len(c.items), c.bytes)
	return nil
}

// sendRange sends some results of a chunk. It blocks while the caller does not read.
func (t *stream[M, R]) sendRange(c *chunk[R], from, to int) error {
	if from == to {
		return nil
	}
	defer t.slot.touch()
	return t.send(c.first+int64(from), c.results[from:to])
}

// recoverStream is deferred by goroutines of a stream. It returns a panic as an error.
func recoverStream(doing string, err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%s a stream: %w", doing, &panicError{value: p, stack: debug.Stack()})
	}
}
