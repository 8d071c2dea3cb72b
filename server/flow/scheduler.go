package flow

import (
	"cmp"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Options configure a Scheduler.
type Options struct {
	// Seats is the number of pieces of work that run at a time. Default: GOMAXPROCS.
	Seats int
	// MaxItemTime bounds the CPU time of an item. 0: no bound.
	MaxItemTime time.Duration
	// CPUTime returns the CPU time of the process. While other processes use the processors, it grows slower than the time
	// for which items hold seats, and only that part of the time counts. Nil: all time with a seat counts.
	CPUTime func() time.Duration
}

// Scheduler shares CPU time between the flows that have work. Work runs while it holds a seat. If no seat is
// free, tenants take turns, within a tenant its flows, and within a flow its pieces of work. The turn goes to the one
// that has used the least time. Work that runs gives its seat away at a checkpoint of the engine if other work has used
// less, so a cheap call waits for less than a millisecond.
//
// While another tenant had work a moment ago, a tenant leaves one seat free. So its expensive work does not occupy all
// processors, which the calls of the other tenant also need to be received and answered.
//
// Work without checkpoints, such as the compilation of a long rule, holds at most half of the seats.
type Scheduler struct {
	seats, maxLong int
	maxItemTime    time.Duration
	network        network
	start          time.Time // times are since then

	queued atomic.Int64 // pieces of work that wait
	waited atomic.Int64 // time for which work waited before it began or continued, in nanoseconds

	mu        sync.Mutex
	root      node
	running   []*Work
	recent    [2]arrival    // of the two tenants that last had work
	long      int           // pieces of long work that run
	contended time.Duration // when work last waited
	sequence  uint64        // of pieces of work that entered a queue
	watching  bool          // a timer for watchItems runs
	usage     usage
}

const (
	// slice is the time after which work gives its seat to work that has used less. Giving a seat away takes some
	// microseconds.
	slice = 50 * time.Microsecond
	// workSlice is slice among the work of one flow. It is longer, because large working memory makes switches expensive.
	workSlice = 4 * time.Millisecond
	// maxLag bounds the time that a flow can catch up on others after it used less than its share.
	maxLag = time.Second
	// reservation is how long a seat is kept free for a tenant after its last work began.
	reservation = 100 * time.Millisecond
	// memory is how long used time counts after the last work waited.
	memory = 100 * time.Millisecond
)

// New returns a Scheduler without work.
func New(o Options) *Scheduler {
	seats := cmp.Or(o.Seats, runtime.GOMAXPROCS(0))
	return &Scheduler{
		seats: seats, maxLong: max(seats/2, 1), maxItemTime: o.MaxItemTime, network: newNetwork(), start: time.Now(),
		contended: -memory, usage: usage{cpuTime: o.CPUTime, part: 1},
	}
}

// Seats returns the number of pieces of work that run at a time.
func (s *Scheduler) Seats() int { return s.seats }

// MaxItemTime returns the bound for the time of an item; 0 for none.
func (s *Scheduler) MaxItemTime() time.Duration { return s.maxItemTime }

// Stats describe the work of a Scheduler.
type Stats struct {
	Seats, Running, Waiting int
	Waited                  time.Duration // sum over all work
}

// Stats returns the current numbers.
func (s *Scheduler) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{s.seats, len(s.running), int(s.queued.Load()), time.Duration(s.waited.Load())}
}

func (s *Scheduler) now() time.Duration { return time.Since(s.start) }

// admit gives w a seat, or adds it to the queue and returns false: the caller awaits the seat. s.mu is held.
func (s *Scheduler) admit(w *Work, now time.Duration) bool {
	free := len(s.running) < s.seats && (!w.long || s.long < s.maxLong)
	if free && s.queued.Load() == 0 && !s.reserved(s.root.children[w.key.Tenant], now) {
		s.place(w)
		s.enter(w, now)
		s.seat(w, now)
		return true
	}
	if now-s.contended > memory && s.queued.Load() == 0 {
		s.root.forget()
	}
	s.contended = now
	for _, r := range s.running {
		s.charge(r, now)
	}
	s.place(w)
	s.raiseFloors(w)
	s.enter(w, now)
	s.enqueue(w, now)
	s.dispatch(now)
	return false
}

// seat gives w a seat. s.mu is held.
func (s *Scheduler) seat(w *Work, now time.Duration) {
	w.state, w.since = running, now
	w.seated.Store(true)
	w.sliceEnd.Store(int64(now + slice))
	s.running = append(s.running, w)
	w.tenant.running++
	if w.long {
		s.long++
	}
	s.watch()
}

// unseat takes the seat of w away. s.mu is held.
func (s *Scheduler) unseat(w *Work, now time.Duration) {
	s.charge(w, now)
	w.state = idle
	w.seated.Store(false)
	w.tenant.running--
	for i, r := range s.running {
		if r == w {
			last := len(s.running) - 1
			s.running[i], s.running[last] = s.running[last], nil
			s.running = s.running[:last]
			break
		}
	}
	if w.long {
		s.long--
	}
}

// dispatch gives free seats to waiting work. s.mu is held.
func (s *Scheduler) dispatch(now time.Duration) {
	for len(s.running) < s.seats {
		w := s.root.next(s.long < s.maxLong)
		if w == nil || s.reserved(w.tenant, now) {
			return
		}
		s.dequeue(w, now)
		s.seat(w, now)
		w.granted <- struct{}{}
	}
}

// charge adds the time since the last charge to the work, its flow and its tenant. s.mu is held.
func (s *Scheduler) charge(w *Work, now time.Duration) {
	d := now - w.since
	w.since = now
	s.chargeItem(w, s.usage.charge(d))
	for n := &w.node; n.parent != nil; n = n.parent {
		n.used += d
		n.parent.front = max(n.parent.front, n.used)
		n.reorder()
	}
}

// giveWay gives the seat of w to waiting work that has used less. It returns when w has a seat again or its context ends.
func (s *Scheduler) giveWay(w *Work) {
	now := s.now()
	s.mu.Lock()
	if w.state != running {
		s.mu.Unlock()
		return
	}
	s.charge(w, now)
	w.sliceEnd.Store(int64(now + slice))
	s.dispatch(now) // the reservation may have ended
	long := s.long
	if w.long {
		long--
	}
	if other := s.root.next(long < s.maxLong); other == nil || !other.precedes(w) {
		s.mu.Unlock()
		return
	}
	s.contended = now
	s.unseat(w, now)
	s.enqueue(w, now)
	s.dispatch(now)
	ticket, granted := w.ticket, w.granted
	s.mu.Unlock()
	_ = w.await(ticket, granted) // without a seat, the context has ended
}
