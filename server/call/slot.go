package call

import (
	"sync"
	"time"
)

// A Slot is that of one call in flight.
type Slot struct {
	of     *Limiter
	caller string

	fast bool // the calls of the caller were fast

	pauses   int // guarded by of.mu, as the following
	released bool
	since    time.Duration // of the last activation
	busy     time.Duration // time for which it was active before
}

// Release ends the call. Further calls of Release have no effect.
func (s *Slot) Release() {
	if s == nil {
		return
	}
	l := s.of
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.released {
		return
	}
	s.released = true
	if s.pauses > 0 {
		l.paused--
	} else {
		l.deactivate(s)
	}
	l.history.add(s.caller, s.busy, l.window.changed)
	l.window.completed++
}

// Pause stops counting the call while it waits for something other than CPU, until resume is called.
func (s *Slot) Pause() (resume func()) {
	if s == nil {
		return func() {}
	}
	s.pause(1)
	return sync.OnceFunc(func() { s.pause(-1) })
}

// PauseAfter is Pause after a delay. If resume is called before, the call is not paused.
func (s *Slot) PauseAfter(delay time.Duration) (resume func()) {
	if s == nil {
		return func() {}
	}
	timer := time.AfterFunc(delay, func() { s.pause(1) })
	return sync.OnceFunc(func() {
		if !timer.Stop() {
			s.pause(-1)
		}
	})
}

func (s *Slot) pause(n int) {
	l := s.of
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.released {
		return
	}
	before := s.pauses > 0
	s.pauses += n
	switch after := s.pauses > 0; { // a late timer makes it negative for a moment
	case !before && after:
		l.deactivate(s)
		l.paused++
	case before && !after:
		l.activate(s, l.advance())
		l.paused--
	}
}
