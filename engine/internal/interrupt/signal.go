// Package interrupt ends work whose result is no longer needed. Loops poll a Signal; work that cannot poll runs in the
// background and is abandoned (Run).
package interrupt

import "sync/atomic"

// Signal reports when to stop. The zero Signal and nil never fire.
type Signal struct {
	done  <-chan struct{}
	fired atomic.Bool
}

// On returns a Signal that fires when the channel closes, such as a context's Done. A nil channel never fires.
func On(done <-chan struct{}) *Signal { return &Signal{done: done} }

// Stopped reports whether the signal has fired. It costs a few nanoseconds.
func (s *Signal) Stopped() bool {
	if s == nil || s.done == nil {
		return false
	}
	if s.fired.Load() {
		return true
	}
	select {
	case <-s.done:
		s.fired.Store(true)
		return true
	default:
		return false
	}
}

// Done returns a channel that is closed when the signal fires. It is nil if the signal can never fire.
func (s *Signal) Done() <-chan struct{} {
	if s == nil {
		return nil
	}
	return s.done
}
