package api

import "context"

// answerAll sends the results of all chunks, in their order, until there are no more or the server drains.
func (t *stream[M, S]) answerAll(ctx context.Context) (err error) {
	defer recovered("sending to", &err)
	for {
		select {
		case c, more := <-t.ready:
			if !more {
				return t.ended
			}
			if err := t.answer(ctx, c); err != nil {
				return err
			}
		case <-t.service.streams.draining:
			return t.finish(ctx)
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
	t.place.move()
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
