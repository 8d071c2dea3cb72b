package api

import (
	"context"
	"errors"
	"sync/atomic"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/registry"
)

// A chunk is the items of one message, on their way through a stream.
type chunk[S any] struct {
	first int64 // the index of the first item
	items []*crdevalv1.EvaluationItem
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
	defer t.place.move()
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
