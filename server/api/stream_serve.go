package api

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/registry"
)

// A chunk is the items of one message, on their way through a stream.
type chunk[S any] struct {
	first int64 // the index of the first item
	items []*crdevalv1.Item
	view  registry.View
	bytes int64 // of the message
	slots []S
	sizes []int64       // of the results, in bytes; 0 for errors
	again []bool        // by item: its result found no room among those that wait
	spans atomic.Int32  // parts that are not evaluated yet
	done  chan struct{} // closed when there are none
}

// span is a part of a chunk for one goroutine.
type span[S any] struct {
	of       *chunk[S]
	from, to int
}

// stream is a call under way. Three kinds of goroutines share it: one receives messages and cuts them into spans, some evaluate these, and the
// handler's own sends what is ready, in order.
type stream[M streamed, S any] struct {
	streaming[M, S]
	service *evaluationService
	catalog string
	overlay []engine.Document
	batch   *batch // of what is evaluated in parallel; its budget has room for the results that wait
	alone   *batch // of what is evaluated again
	window  *window
	work    chan span[S]
	ready   chan *chunk[S] // in the order of the items; closed behind the last
	next    int64          // index of the next item
	closing atomic.Bool    // what is received from now on is not taken
	ended   error          // why receiving ended, nil at the end of the stream; to be read when ready is closed
}

// serveStream answers a stream from its first message to its end.
func serveStream[M streamed, S any, Req, Res any](s *evaluationService, g grpc.BidiStreamingServer[Req, Res], kind streaming[M, S]) error {
	ctx := g.Context()
	leave, err := s.streams.enter()
	if err != nil {
		return s.faults.call(ctx, err)
	}
	defer leave()
	first, err := firstOf(s.streams, kind.receive)
	var broken *brokenStream
	switch {
	case errors.Is(err, io.EOF):
		return s.faults.call(ctx, invalid("catalog", "the stream ended before its first message: send one with the catalog"))
	case errors.As(err, &broken):
		return broken.status // the caller is gone, or gRPC itself refuses the message
	case err != nil:
		return s.faults.call(ctx, err)
	}
	call := &stream[M, S]{streaming: kind, service: s, window: newWindow(), work: make(chan span[S], streamWindow), ready: make(chan *chunk[S], streamWindow)}
	if err := call.open(ctx, first); err != nil {
		return s.faults.call(ctx, err)
	}
	// From here on the caller knows that its first message was accepted.
	if err := g.SendHeader(nil); err != nil {
		return err
	}
	err = call.run(ctx, first)
	switch {
	case err != nil && ctx.Err() != nil:
		err = context.Cause(ctx)
	case errors.As(err, &broken):
		return broken.status
	}
	return s.faults.call(ctx, err)
}

// open checks the first message.
func (t *stream[M, S]) open(ctx context.Context, first M) (err error) {
	if len(first.GetItems()) > maxStreamItems {
		return tooMany("items in a message", "max_stream_items", maxStreamItems)
	}
	if t.batch, err = t.service.open(ctx, first); err != nil {
		return err
	}
	if err := t.begin(t.batch, first); err != nil {
		return err
	}
	if t.overlay, err = overlay(first.GetCrds()); err != nil {
		return err
	}
	t.catalog = t.batch.catalog
	t.batch.budget.resetTo(min(streamAnswers, t.service.limits.MaxMessageBytes/2), 0)
	t.alone = &batch{catalog: t.catalog, options: t.batch.options, timeout: t.batch.timeout, limits: t.batch.limits, faults: t.batch.faults}
	return nil
}

// run receives, evaluates and sends until one of them ends.
func (t *stream[M, S]) run(ctx context.Context, first M) error {
	running, stop := context.WithCancelCause(ctx)
	var workers sync.WaitGroup
	defer workers.Wait()
	defer stop(nil)
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() { t.evaluateSpans(running) })
	}
	go t.receiveAll(running, first) // ends when the call does: nothing else ends gRPC's waiting for a message
	for {
		select {
		case c, more := <-t.ready:
			if !more {
				return t.ended
			}
			if err := t.answer(running, c); err != nil {
				return err
			}
		case <-t.service.streams.draining:
			return t.finish(running)
		}
	}
}

// finish answers what was received before the server began to drain.
func (t *stream[M, S]) finish(ctx context.Context) error {
	t.closing.Store(true)
	for {
		select {
		case c, more := <-t.ready:
			if !more {
				return t.ended
			}
			if err := t.answer(ctx, c); err != nil {
				return err
			}
		default:
			return errStreamDraining
		}
	}
}

// receiveAll receives messages, each when there is room for it.
func (t *stream[M, S]) receiveAll(ctx context.Context, first M) {
	defer close(t.ready)
	defer receivingPanicked(&t.ended)
	if t.ended = t.accept(ctx, first, t.batch.view); t.ended != nil {
		return
	}
	for {
		if t.ended = t.window.wait(ctx); t.ended != nil {
			return
		}
		m, err := t.receive()
		switch {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			err = &brokenStream{err}
		case t.closing.Load():
			err = errStreamDraining
		default:
			err = t.take(ctx, m)
		}
		if err != nil {
			t.ended = err
			return
		}
	}
}

// take puts the items of a message that is not the first in line.
func (t *stream[M, S]) take(ctx context.Context, m M) error {
	if err := t.check(m); err != nil {
		return err
	}
	view, err := t.view(ctx)
	if err != nil {
		return err
	}
	return t.accept(ctx, m, view)
}

// check checks a message that is not the first.
func (t *stream[M, S]) check(m M) error {
	switch n := len(m.GetItems()); {
	case m.GetCatalog() != "" || m.GetOptions() != nil || len(m.GetCrds()) > 0 || t.late(m):
		return invalid("items", "a message after the first has items and nothing else: catalog, options and all else hold for the whole stream, from its first message on")
	case n == 0:
		return invalid("items", "a message after the first has no items: send 1 to %d", maxStreamItems)
	case n > maxStreamItems:
		return tooMany("items in a message", "max_stream_items", maxStreamItems)
	}
	return nil
}

// view is the catalog as it is now, for the items of one message.
func (t *stream[M, S]) view(ctx context.Context) (registry.View, error) {
	return viewOf(ctx, t.service.registry, t.catalog, "", t.overlay)
}

// accept puts the items of a message in line.
func (t *stream[M, S]) accept(ctx context.Context, m M, view registry.View) error {
	n := len(m.GetItems())
	if n == 0 {
		return nil
	}
	c := &chunk[S]{
		first: t.next, items: m.GetItems(), view: view, bytes: int64(proto.Size(m)), slots: make([]S, n), sizes: make([]int64, n), again: make([]bool, n),
		done: make(chan struct{}),
	}
	t.next += int64(n)
	t.window.enter(n, c.bytes)
	parts := max(min(runtime.GOMAXPROCS(0), n/minShare), 1)
	c.spans.Store(int32(parts))
	for i := range parts {
		// Neither can be full: there is room for a window of single items.
		t.work <- span[S]{c, i * n / parts, (i + 1) * n / parts}
	}
	select {
	case t.ready <- c:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// evaluateSpans evaluates until the stream ends.
func (t *stream[M, S]) evaluateSpans(ctx context.Context) {
	r := &resolver{limits: t.batch.limits}
	for {
		select {
		case <-ctx.Done():
			return
		case s := <-t.work:
			if r.view != s.of.view {
				r = &resolver{view: s.of.view, limits: t.batch.limits}
			}
			for i := s.from; i < s.to; i++ {
				s.of.again[i] = t.evaluateItem(ctx, t.batch, r, s.of, i)
			}
			if s.of.spans.Add(-1) == 0 {
				close(s.of.done)
			}
		}
	}
}

// evaluateItem evaluates one item into its place. It says whether that has to be done again, since its result found no room.
func (t *stream[M, S]) evaluateItem(ctx context.Context, b *batch, r *resolver, c *chunk[S], i int) (again bool) {
	err := b.one(ctx, r, i, func(ctx context.Context, r *resolver, i int) error {
		return t.evaluate(b, ctx, r, c.items[i], &c.slots[i])
	})
	switch {
	case err == nil:
		c.sizes[i] = int64(protowire.SizeTag(1) + protowire.SizeBytes(proto.Size(t.result(&c.slots[i])))) // as budget counts it
		t.window.enter(0, c.sizes[i])
	case b == t.batch && isNoRoom(err):
		return true
	default:
		st := b.itemStatus(ctx, b.aboutVersion(r, c.items[i], err))
		b.faults.failedItem(st)
		t.fail(&c.slots[i], st)
	}
	return false
}

// isNoRoom says whether an error is that of a result without room: see budget.
func isNoRoom(err error) bool {
	var p *problem
	return errors.As(err, &p) && p.reason == crdevalv1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED && p.metadata["limit"] == "max_message_bytes"
}

// answer sends the results of a chunk, as soon as all are there.
func (t *stream[M, S]) answer(ctx context.Context, c *chunk[S]) error {
	select {
	case <-c.done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx) // items that it ended have errors that nobody asked for
	}
	sent := 0
	for i, again := range c.again {
		if !again {
			continue
		}
		if err := t.sendRange(c, sent, i); err != nil {
			return err
		}
		t.alone.budget.resetTo(t.service.limits.MaxMessageBytes, 0)
		t.alone.budget.wasted.Store(0)
		t.evaluateItem(ctx, t.alone, &resolver{view: c.view, limits: t.batch.limits}, c, i)
		if err := t.sendRange(c, i, i+1); err != nil {
			return err
		}
		sent = i + 1
	}
	t.batch.budget.wasted.Store(0)
	if err := t.sendRange(c, sent, len(c.items)); err != nil {
		return err
	}
	t.window.leave(len(c.items), c.bytes)
	return nil
}

// sendRange sends some results of a chunk. It waits while the caller does not read.
func (t *stream[M, S]) sendRange(c *chunk[S], from, to int) error {
	if from == to {
		return nil
	}
	if err := t.send(c.first+int64(from), c.slots[from:to]); err != nil {
		return &brokenStream{err}
	}
	var bytes int64
	for _, size := range c.sizes[from:to] {
		bytes += size
	}
	if !c.again[from] { // else it was not among those that waited
		t.batch.budget.left.Add(bytes)
	}
	t.window.leave(0, bytes)
	return nil
}
