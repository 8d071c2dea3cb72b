package main

import (
	"context"
	"time"
)

// itemContext ends when an item takes longer than a limit. It serves all items until one does: a context for each would
// cost more than a small item.
type itemContext struct {
	context.Context //nolint:containedctx // it is one
	limit           time.Duration
	timer           *time.Timer
	stop            func()
}

func newItemContext(ctx context.Context, limit time.Duration) *itemContext {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(limit, func() { cancel(context.DeadlineExceeded) })
	return &itemContext{ctx, limit, timer, func() { timer.Stop(); cancel(nil) }}
}

// restart begins the time of the next item.
func (c *itemContext) restart() { c.timer.Reset(c.limit) }

// Err returns context.DeadlineExceeded after the limit, as a context with a deadline does.
func (c *itemContext) Err() error { return context.Cause(c.Context) }
