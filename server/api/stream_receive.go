package api

import (
	"context"
	"errors"
	"io"
	"runtime"

	"google.golang.org/protobuf/proto"

	"github.com/crdeval/crdeval/server/registry"
)

// firstOf receives the first message of a stream, unless the server begins to drain before it comes, or the place is lost. Other errors are io.EOF and a *brokenStream.
func firstOf[M any](place *streamPlace, receive func() (M, error)) (first M, err error) {
	came := make(chan struct{})
	var m M
	var failed error
	go func() { // ends when the call does: nothing else ends gRPC's waiting for a message
		defer close(came)
		defer recovered("receiving from", &failed)
		if m, failed = receive(); failed != nil && !errors.Is(failed, io.EOF) {
			failed = &brokenStream{failed}
		}
	}()
	select {
	case <-came:
		place.move()
		return m, failed
	case <-place.of.draining:
		return first, errStreamDraining
	case <-place.lost:
		return first, place.errLost()
	}
}

// receiveAll receives messages, each when there is room for it.
func (t *stream[M, S]) receiveAll(ctx context.Context, first M) {
	defer close(t.ready)
	defer recovered("receiving from", &t.ended)
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
			t.place.move()
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
