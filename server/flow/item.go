package flow

import (
	"errors"
	"fmt"
	"time"
)

// errItemTime is the cause of a context that ended because the time of an item was over.
var errItemTime = errors.New("the time of the item is over")

// compilationItems is the maximum time of a compilation or of a document about a catalog, as a multiple of that of an
// item.
const compilationItems = 12

// ItemTimeError is the error of an item that held a seat for longer than Options.MaxItemTime, or of a compilation.
type ItemTimeError struct {
	Limit       time.Duration
	Compilation bool // or a document about a catalog: Limit is compilationItems times that of an item
}

// Error returns what the item exceeded.
func (e *ItemTimeError) Error() string {
	if e.Compilation {
		return fmt.Sprintf("the compilation or document took more than %v of CPU time, %d times the limit --max-item-time: simplify the CRD, "+
			"ask for a smaller document, or raise the limit", e.Limit, compilationItems)
	}
	return fmt.Sprintf("the evaluation took more than %v of CPU time, the limit --max-item-time: simplify rules or patterns, "+
		"send a smaller object, or raise the limit", e.Limit)
}

// Bounds of the time between two checks of the items that run, which is a 20th of the maximum time of an item.
const (
	minWatch, maxWatch = time.Millisecond, 100 * time.Millisecond
	watchesPerItem     = 20
)

// watch starts to check the time of items. s.mu is held.
func (s *Scheduler) watch() {
	if s.watching {
		return
	}
	s.watching = true
	interval := maxWatch
	if s.maxItemTime > 0 {
		interval = min(max(s.maxItemTime/watchesPerItem, minWatch), maxWatch)
	}
	time.AfterFunc(interval, s.watchItems)
}

// chargeItem adds time with a seat to the item of w, and ends the context of the item if its time is over. The time until
// an item is seen for the first time may belong to earlier items. s.mu is held.
func (s *Scheduler) chargeItem(w *Work, d time.Duration) {
	item := w.item.Load()
	if item != w.itemSeen || item%2 == 0 {
		w.itemSeen, w.itemTime = item, 0
		return
	}
	w.itemTime += d
	if w.limit > 0 && w.itemTime >= w.limit && item != w.expired {
		w.expired = item
		w.cancel(errItemTime)
	}
}

// watchItems charges the items that run. It continues while there is work.
func (s *Scheduler) watchItems() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watching = false
	now := s.now()
	for _, w := range s.running {
		s.charge(w, now)
	}
	s.dispatch(now) // a reservation may have ended
	if len(s.running)+int(s.queued.Load()) > 0 {
		s.watch()
	}
}
