package api

import "context"

// sendAll sends the results of all chunks in order, until there are no more or the server drains.
func (t *stream[M, S]) sendAll(ctx context.Context) (err error) {
	defer recoverStream("sending to", &err)
	for {
		var c *chunk[S]
		var more bool
		if t.closing.Load() {
			select {
			case c, more = <-t.ready: // was received before the server began to drain
			default:
				return errStreamDraining
			}
		} else {
			select {
			case c, more = <-t.ready:
			case <-t.service.streams.draining:
				t.closing.Store(true)
				continue
			}
		}
		if !more {
			return t.ended
		}
		if err := t.sendChunk(ctx, c); err != nil {
			return err
		}
	}
}

// sendChunk sends the results of a chunk when all are done. It evaluates those again that did not fit.
func (t *stream[M, S]) sendChunk(ctx context.Context, c *chunk[S]) error {
	select {
	case <-c.done:
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	sent := 0
	for i, retry := range c.retry {
		if !retry {
			continue
		}
		if err := t.sendRange(c, sent, i); err != nil {
			return err
		}
		t.retry.budget.reset(t.service.limits.MaxMessageBytes, 0)
		t.evaluateItem(ctx, t.retry, &resolver{view: c.view, limits: t.retry.limits}, c, i)
		if err := t.sendRange(c, i, i+1); err != nil {
			return err
		}
		sent = i + 1
	}
	t.parallel.budget.discarded.Store(0)
	if err := t.sendRange(c, sent, len(c.items)); err != nil {
		return err
	}
	t.window.remove(len(c.items), c.bytes)
	return nil
}

// sendRange sends some results of a chunk. It blocks while the caller does not read.
func (t *stream[M, S]) sendRange(c *chunk[S], from, to int) error {
	if from == to {
		return nil
	}
	if err := t.send(c.first+int64(from), c.slots[from:to]); err != nil {
		return err
	}
	t.slot.touch()
	var bytes int64
	for _, size := range c.sizes[from:to] {
		bytes += size
	}
	if !c.retry[from] { // results that were evaluated again are not in this budget
		t.parallel.budget.left.Add(bytes)
	}
	t.window.remove(0, bytes)
	return nil
}
