package api

import (
	"context"
	"errors"
	"io"
	"runtime"

	"google.golang.org/protobuf/proto"

	"github.com/crdeval/crdeval/server/registry"
)

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
	case <-slot.lost:
		return first, slot.errLost()
	}
}

// receiveAll receives messages, each when the window allows it.
func (t *stream[M, S]) receiveAll(ctx context.Context, first M) {
	defer close(t.ready)
	defer recoverStream("receiving from", &t.ended)
	t.ended = t.enqueue(ctx, first, t.parallel.view)
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
func (t *stream[M, S]) accept(ctx context.Context, m M) error {
	switch {
	case m.GetCatalog() != "" || m.GetOptions() != nil || len(m.GetCrds()) > 0 || m.GetAtLeast() != "" || t.hasOptions(m):
		return invalid("items", "a message after the first must have items only: the first message sets the other fields for the whole stream")
	case len(m.GetItems()) == 0:
		return invalid("items", "a message after the first has no items: send 1 to %d", maxStreamItems)
	}
	if err := checkLength(m.GetItems(), "items in a message", "max_stream_items", maxStreamItems); err != nil {
		return err
	}
	view, err := openView(ctx, t.service.registry, t.parallel.catalog, "", t.parallel.inlineCrds)
	if err != nil {
		return err
	}
	return t.enqueue(ctx, m, view)
}

// enqueue splits the items of a message into spans for evaluation.
func (t *stream[M, S]) enqueue(ctx context.Context, m M, view registry.View) error {
	n := len(m.GetItems())
	if n == 0 {
		return nil
	}
	c := &chunk[S]{
		first: t.next, items: m.GetItems(), view: view, bytes: int64(proto.Size(m)), slots: make([]S, n), sizes: make([]int64, n),
		retry: make([]bool, n), done: make(chan struct{}),
	}
	t.next += int64(n)
	t.window.add(n, c.bytes)
	parts := max(min(runtime.GOMAXPROCS(0), n/itemsPerWorker), 1)
	c.spans.Store(int32(parts))
	for i := range parts {
		t.work <- span[S]{c, i * n / parts, (i + 1) * n / parts} // does not block: it has capacity for the whole window
	}
	select {
	case t.ready <- c:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
