// Package interrupt ends work whose result is no longer needed. Loops poll a Signal; work that cannot poll runs in the
// background and is abandoned (Run).
package interrupt

import (
	"context"
	"sync/atomic"
)

// Hooks are functions of the caller that its work calls while it runs. They can be called concurrently, and shortly
// after the work has returned. A nil function is not called.
type Hooks struct {
	// Checkpoint is called about every 10 to 500 microseconds of CPU time, so it must usually return within some
	// nanoseconds. It may block to let other work run.
	Checkpoint func()
	// Background is called before work that has no checkpoints, such as compiling a long rule, and may wait. abandon is
	// called if the caller stops waiting for the work, and end when the work has ended, concurrently with abandon. Both
	// are nil if the context ended first.
	Background func() (abandon, end func())
	// Grow is called before memory for documents grows by n bytes, and with a negative n after it was released. If it
	// returns an error, the work ends with this error.
	Grow func(n int64) error
}

type hooksKey struct{}

// WithHooks returns a context for work that calls the hooks. A hook that is nil is that of ctx.
func WithHooks(ctx context.Context, h *Hooks) context.Context {
	if outer, _ := ctx.Value(hooksKey{}).(*Hooks); outer != nil {
		both := *outer
		if h.Checkpoint != nil {
			both.Checkpoint = h.Checkpoint
		}
		if h.Background != nil {
			both.Background = h.Background
		}
		if h.Grow != nil {
			both.Grow = h.Grow
		}
		h = &both
	}
	return context.WithValue(ctx, hooksKey{}, h)
}

// Signal reports when to stop, and calls the hooks of its context. The zero Signal and nil never fire.
type Signal struct {
	done       <-chan struct{}
	checkpoint func()
	background func() (abandon, end func())
	grow       func(int64) error
	failed     atomic.Pointer[error] // of grow
}

// On returns a Signal that fires when the channel closes. A nil channel never fires.
func On(done <-chan struct{}) *Signal { return &Signal{done: done} }

// Of returns the Signal of a context, with its hooks. It returns nil if the context never ends and has no hooks.
func Of(ctx context.Context) *Signal {
	h, _ := ctx.Value(hooksKey{}).(*Hooks)
	switch done := ctx.Done(); {
	case h != nil:
		return &Signal{done: done, checkpoint: h.Checkpoint, background: h.Background, grow: h.Grow}
	case done != nil:
		return &Signal{done: done}
	}
	return nil
}

// Stopped reports whether the signal has fired. If not, it calls the checkpoint first. Without other work to let run,
// it costs a few nanoseconds.
func (s *Signal) Stopped() bool {
	if s == nil {
		return false
	}
	if s.checkpoint != nil && !s.fired() {
		s.checkpoint()
	}
	return s.fired()
}

func (s *Signal) fired() bool {
	if s.grow != nil && s.failed.Load() != nil {
		return true
	}
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// Grow calls the hook. If that returns an error, Grow returns false, the signal fires, and Err returns the error.
func (s *Signal) Grow(n int64) bool {
	if s == nil || s.grow == nil {
		return true
	}
	err := s.grow(n)
	if err != nil {
		s.failed.CompareAndSwap(nil, &err)
	}
	return err == nil
}

// Err returns the first error of the hook Grow.
func (s *Signal) Err() error {
	if s == nil || s.grow == nil {
		return nil
	}
	if err := s.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// Done returns a channel that is closed when the signal fires. It is nil if the signal can never fire.
func (s *Signal) Done() <-chan struct{} {
	if s == nil {
		return nil
	}
	return s.done
}

// Slots bounds how many pieces of work run at the same time, including abandoned ones, if the signal has no hook for
// background work. Nil says that the work has checkpoints.
type Slots chan struct{}

// acquire waits until work may run. It returns what to call when the work is abandoned, and when it has ended; or false
// if the signal fires first.
func (s Slots) acquire(stop *Signal) (abandon, end func(), ok bool) {
	nothing := func() {}
	switch {
	case s == nil:
		return nothing, nothing, true
	case stop != nil && stop.background != nil:
		abandon, end = stop.background()
		return abandon, end, end != nil
	}
	select {
	case s <- struct{}{}:
		return nothing, func() { <-s }, true
	case <-stop.Done():
		return nil, nil, false
	}
}

var abandoned atomic.Int64

// Abandoned returns how many pieces of work of this process still run after their callers stopped waiting.
func Abandoned() int64 { return max(0, abandoned.Load()) } // work can end before it is counted

// Run runs work in a slot and returns its result. If the signal fires first, Run abandons the work and returns false.
// Abandoned work runs to its end, so it must share no mutable state with the caller. A panic of the work is raised in
// the caller; a panic of abandoned work is dropped. If the signal never fires, the work runs in the caller's goroutine.
func Run[T any](stop *Signal, slots Slots, work func() T) (result T, ok bool) {
	abandon, end, ok := slots.acquire(stop)
	if !ok {
		return result, false
	}
	done := stop.Done()
	if done == nil {
		defer end()
		return work(), true
	}
	type outcome struct {
		result   T
		panicked any
	}
	ended := make(chan outcome, 1)
	var over atomic.Bool // the work has ended or the caller has stopped waiting, whichever came first
	go func() {
		var o outcome
		defer func() {
			o.panicked = recover()
			end()
			if over.Swap(true) {
				abandoned.Add(-1)
			}
			ended <- o
		}()
		o.result = work()
	}()
	select {
	case o := <-ended:
		if o.panicked != nil {
			panic(o.panicked)
		}
		return o.result, true
	case <-done:
		if !over.Swap(true) {
			abandoned.Add(1)
			abandon()
		}
		return result, false
	}
}
