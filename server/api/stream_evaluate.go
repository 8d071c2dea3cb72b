package api

import (
	"context"
	"sync/atomic"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/registry"
)

// A chunk has the items of one message and their results.
type chunk[S any] struct {
	first int64 // the index of the first item
	items []*crdevalv1.EvaluationItem
	view  registry.View
	bytes int64 // of the message
	slots []S
	sizes []int64       // of the results in bytes; 0 for errors
	retry []bool        // by item: the result did not fit among those that wait
	spans atomic.Int32  // not evaluated yet
	done  chan struct{} // closed after the last span
}

// A span is a part of a chunk that one goroutine evaluates.
type span[S any] struct {
	of       *chunk[S]
	from, to int
}

// evaluateSpans evaluates spans until the stream ends.
func (t *stream[M, S]) evaluateSpans(ctx context.Context) {
	r := &resolver{limits: t.parallel.limits}
	for {
		select {
		case <-ctx.Done():
			return
		case s := <-t.work:
			if r.view != s.of.view {
				r = &resolver{view: s.of.view, limits: t.parallel.limits}
			}
			for i := s.from; i < s.to; i++ {
				s.of.retry[i] = t.evaluateItem(ctx, t.parallel, r, s.of, i)
			}
			if s.of.spans.Add(-1) == 0 {
				close(s.of.done)
			}
		}
	}
}

// evaluateItem evaluates one item. It reports whether the item must be evaluated again because its result did not fit.
func (t *stream[M, S]) evaluateItem(ctx context.Context, b *batch, r *resolver, c *chunk[S], i int) (retry bool) {
	defer t.slot.touch()
	err := b.evaluate(ctx, r, i, func(ctx context.Context, r *resolver, i int) error {
		return t.evaluate(b, ctx, r, c.items[i], &c.slots[i])
	})
	switch {
	case err == nil:
		c.sizes[i] = encodedSize(t.result(&c.slots[i]))
		t.window.add(0, c.sizes[i])
	case b == t.parallel && isBudgetError(err):
		return true
	default:
		st := b.itemStatus(ctx, b.addVersion(r, c.items[i], err))
		b.faults.failedItem(st)
		t.fail(&c.slots[i], st)
	}
	return false
}
