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
	s.usage.begin()
	interval := maxWatch
	if s.maxItemTime > 0 {
		interval = min(max(s.maxItemTime/watchesPerItem, minWatch), maxWatch)
	}
	time.AfterFunc(interval, s.watchItems)
}

// chargeItem adds CPU time to the item of w, and ends the context of the item if its time is over. The time until
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
	s.usage.measure()
	s.dispatch(now) // a reservation may have ended
	if len(s.running)+int(s.queued.Load()) > 0 {
		s.watch()
	}
}

// usage measures which part of the time with seats is CPU time. Go does not know the CPU time of a goroutine. Therefore the
// CPU time of the process is divided among the work with seats.
type usage struct {
	cpuTime func() time.Duration
	before  time.Duration // CPU time at the last measurement
	seated  time.Duration // time with seats since then
	part    float64       // CPU time of one unit of time with a seat, at most 1
}

// begin begins a measurement.
func (u *usage) begin() {
	if u.cpuTime != nil {
		u.before, u.seated = u.cpuTime(), 0
	}
}

// measure sets the part of the last measurement, and begins another one.
func (u *usage) measure() {
	if before, seated := u.before, u.seated; u.cpuTime != nil && seated > 0 {
		u.begin()
		u.part = min(1, float64(u.before-before)/float64(seated))
	}
}

// charge returns the CPU time of some time with a seat.
func (u *usage) charge(d time.Duration) time.Duration {
	u.seated += d
	return time.Duration(float64(d) * u.part)
}
