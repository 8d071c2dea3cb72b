package flow

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/crdeval/crdeval/engine/host"
	"github.com/crdeval/crdeval/server/call"
)

type state uint8

const (
	idle    state = iota // has no seat and wants none
	waiting              // waits for a seat
	running              // has a seat
)

// Work is what one goroutine does for a flow. While it has a seat, it must not wait for anything else: see Wait.
type Work struct {
	node
	s            *Scheduler
	key          call.Flow
	pool         *Pool // of the batch, or nil
	tenant, flow *node
	hooks        host.Hooks
	within       context.Context // of the call, with the work and its hooks
	ctx          context.Context // ends when the time of the item is over, too
	cancel       context.CancelCauseFunc
	limit        time.Duration // of the time of an item; 0: no bound
	granted      chan struct{} // receives when the work gets a seat after it waited
	sliceEnd     atomic.Int64  // when the work may have to give its seat away
	item         atomic.Int64  // odd during an item
	seated       atomic.Bool   // state is running: the next item needs no lock

	// Scheduler.mu guards these.
	state    state
	ticket   uint64        // number of times that it entered the queue
	long     bool          // it waits for background work
	since    time.Duration // when it was last charged, or began to wait
	itemTime time.Duration // time with a seat since itemSeen was first seen
	itemSeen int64
	expired  int64 // the last item whose time was over
}

type workKey struct{}

type workContext struct {
	context.Context
	w *Work
}

// Value implements context.Context.
func (c workContext) Value(key any) any {
	if key == (workKey{}) {
		return c.w
	}
	return c.Context.Value(key)
}

// Start returns new work of the call of ctx, without a seat. It charges document trees to the lease of the call. The
// caller must call Close.
func (s *Scheduler) Start(ctx context.Context) *Work {
	return s.newWork(ctx, s.maxItemTime, PoolOf(ctx))
}

// newWork returns work whose items have a maximum time, of a pool or nil.
func (s *Scheduler) newWork(ctx context.Context, limit time.Duration, of *Pool) *Work {
	c := call.Of(ctx)
	w := &Work{s: s, key: c.Flow, pool: of, limit: limit, granted: make(chan struct{}, 1)}
	w.work = w
	w.hooks = host.Hooks{Checkpoint: w.checkpoint, Background: w.background}
	if c.Lease != nil {
		w.hooks.Grow = func(n int64) error { return c.Lease.TryGrow(call.Tree, n) }
	}
	w.within = host.WithHooks(workContext{ctx, w}, &w.hooks)
	w.renew()
	return w
}

// renew gives the work a context for further items.
func (w *Work) renew() {
	w.ctx, w.cancel = w.within, nil
	if w.limit > 0 {
		ctx, cancel := context.WithCancelCause(w.within)
		w.s.mu.Lock()
		w.ctx, w.cancel = ctx, cancel
		w.s.mu.Unlock()
	}
}

// Close gives the seat back.
func (w *Work) Close() {
	w.release()
	if w.cancel != nil {
		w.cancel(context.Canceled)
	}
}

// Item calls f for an item when the work has a seat. The work keeps its seat for the next item. The engine must be
// called with the context of f: it yields to other work. The error is that of f, that of the context if it ended before
// f was called, or an *ItemTimeError.
func (w *Work) Item(f func(context.Context) error) error {
	if w.ctx.Err() != nil && w.overtime() {
		w.renew()
	}
	w.item.Add(1)
	defer w.item.Add(1)
	for {
		if err := w.acquire(); err != nil {
			return err
		}
		err := f(w.ctx)
		if err == nil || !w.overtime() {
			return err
		}
		w.renew()
		w.s.mu.Lock()
		mine := w.expired == w.item.Load()
		w.s.mu.Unlock()
		if mine {
			return &ItemTimeError{w.limit, w.limit > w.s.maxItemTime}
		}
		// The time of an earlier item was over when that item ended.
	}
}

// overtime reports whether the context has ended because the time of an item was over.
func (w *Work) overtime() bool { return errors.Is(context.Cause(w.ctx), errItemTime) }

// Run calls f for an item when it is its turn.
func (s *Scheduler) Run(ctx context.Context, f func(context.Context) error) error {
	w := s.Start(ctx)
	defer w.Close()
	return w.Item(f)
}

// Do calls f, such as a compilation, when it is its turn. Its time is bounded by compilationItems times that of an item.
func (s *Scheduler) Do(ctx context.Context, f func(context.Context) error) error {
	w := s.newWork(ctx, compilationItems*s.maxItemTime, PoolOf(ctx))
	defer w.Close()
	return w.Item(f)
}

// Wait calls f, which waits for something other than CPU time, such as a webhook. Meanwhile, the work of ctx has no
// seat, and its call does not count as active.
func Wait(ctx context.Context, f func()) {
	defer call.Pause(ctx)()
	WaitForWork(ctx, f)
}

// Sleep waits for d, or until ctx ends, without a seat.
func Sleep(ctx context.Context, d time.Duration) {
	Wait(ctx, func() {
		select {
		case <-time.After(d):
		case <-ctx.Done():
		}
	})
}

// WaitForWork calls f, which waits for other work, without a seat.
func WaitForWork(ctx context.Context, f func()) {
	w, ok := ctx.Value(workKey{}).(*Work)
	if !ok {
		f()
		return
	}
	w.release()
	defer func() { _ = w.acquire() }() // without a seat, the context has ended
	f()
}

// acquire waits for a seat, unless the work has one. The error is that of the context.
func (w *Work) acquire() error {
	if w.seated.Load() {
		w.checkpoint()
		return nil
	}
	now := w.s.now()
	w.s.mu.Lock()
	if w.state == waiting { // a goroutine that an item has left behind waits at a checkpoint: its work is over
		w.releaseLocked()
		close(w.granted)
		w.granted = make(chan struct{}, 1)
	}
	seated := w.s.admit(w, now)
	ticket, granted := w.ticket, w.granted
	w.s.mu.Unlock()
	if seated {
		return nil
	}
	return w.await(ticket, granted)
}

// await waits until the work gets a seat or its context ends.
func (w *Work) await(ticket uint64, granted <-chan struct{}) error {
	select {
	case <-granted:
		return nil
	case <-w.ctx.Done():
	}
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	if w.ticket == ticket {
		w.releaseLocked()
	}
	return context.Cause(w.ctx)
}

// release gives the seat back, or leaves the queue.
func (w *Work) release() {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	w.releaseLocked()
}

func (w *Work) releaseLocked() {
	s, now := w.s, w.s.now()
	switch w.state {
	case idle:
		return
	case waiting:
		s.dequeue(w, now)
	case running:
		s.unseat(w, now)
		select {
		case <-w.granted: // the seat came while the context ended
		default:
		}
	}
	s.leave(w)
	s.dispatch(now)
}

// checkpoint, once in a slice, lets Go poll the network, and gives the seat away if other work waits that has used less.
func (w *Work) checkpoint() {
	now := w.s.now()
	if now < time.Duration(w.sliceEnd.Load()) {
		return
	}
	w.s.network.poll(now)
	if w.s.queued.Load() > 0 {
		w.s.giveWay(w)
	} else {
		w.sliceEnd.Store(int64(now + slice))
	}
}
