package program

import "sync/atomic"

// Stop is how a walk learns that nobody waits for its answer any more. The zero Stop never stops.
type Stop struct {
	done    <-chan struct{}
	stopped atomic.Bool
}

// StopOn stops with the channel, mostly a context's Done. A nil channel never stops.
func StopOn(done <-chan struct{}) *Stop { return &Stop{done: done} }

// Stopped reports whether the channel is closed. It costs a few nanoseconds; walks ask now and then.
func (s *Stop) Stopped() bool {
	if s == nil || s.done == nil {
		return false
	}
	if s.stopped.Load() {
		return true
	}
	select {
	case <-s.done:
		s.stopped.Store(true)
		return true
	default:
		return false
	}
}
