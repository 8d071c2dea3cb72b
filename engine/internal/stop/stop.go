// Package stop is how the walks of an evaluation learn that nobody waits for their answer any more.
package stop

import "sync/atomic"

// Signal says when to stop. The zero Signal, and nil, never stop.
type Signal struct {
	done    <-chan struct{}
	stopped atomic.Bool
}

// On stops with the channel, mostly a context's Done. A nil channel never stops.
func On(done <-chan struct{}) *Signal { return &Signal{done: done} }

// Stopped reports whether the channel is closed. It costs a few nanoseconds; walks ask now and then.
func (s *Signal) Stopped() bool {
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

// Done is the channel of On, for who waits for something else as well; nil if the Signal never stops.
func (s *Signal) Done() <-chan struct{} {
	if s == nil {
		return nil
	}
	return s.done
}
