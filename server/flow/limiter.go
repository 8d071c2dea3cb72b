package flow

import (
	"cmp"
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"
)

// The constants of the adaptive limit.
const (
	// targetLatency is how long the calls at the limit take to finish: limit = completed calls per second × targetLatency.
	targetLatency = 5 * time.Millisecond
	// fastLatency is how long a fast call takes at most. It is above targetLatency, because a call can also wait for slow
	// calls of others.
	fastLatency = 25 * time.Millisecond
	// callsPerCore bounds the limit from below, for calls that take longer than targetLatency.
	callsPerCore = 6
	// limiterWindow is the time over which completions are counted. The limit changes at the end of a window.
	limiterWindow = 100 * time.Millisecond
	// burstTime is how long the limit may be exceeded without a rejection, and maxBurst bounds the calls in flight then.
	burstTime = 100 * time.Millisecond
	maxBurst  = 256
	// calmTime is how long no call may exceed the limit before bursts are allowed again.
	calmTime = time.Second
	// targetDelay is how long goroutines that begin calls may wait for a processor.
	targetDelay = 100 * time.Millisecond
	// minOffered is the number of calls in a window, for each core, below which no call is rejected because of the delay:
	// then other processes cause it.
	minOffered = 8
	// gain is how much the share of rejected calls changes in a window for a relative error of 1, and for its change.
	gain = 0.05
	// maxDelayError bounds the relative error, maxShed the share of rejected calls.
	maxDelayError, maxShed = 4, 0.95
	// The delay after which rejected calls should be retried.
	minRetryDelay = 100 * time.Millisecond
	maxRetryDelay = 10 * time.Second
	// delayVariants is the number of random delays in a window. Rejections are cached for each of them.
	delayVariants = 2
)

// Limiter limits the calls that run or wait for CPU. The limit follows Little's law: it is the number of calls that the
// server finishes within targetLatency, but at least callsPerCore for each core. So the time that calls wait for CPU
// stays short, whatever they cost. Calls that wait for something else, such as a webhook, a client or a store, are
// paused and do not count.
//
// Calls can also wait for CPU before they reach the limiter, as goroutines of connections. So the limiter measures how
// long runnable goroutines wait for a processor. If they wait longer than targetDelay, it rejects a share of the calls,
// which a proportional-integral controller adapts. A flow that offers less than its fair share is exempt.
//
// A flow whose calls mostly finish within fastLatency competes only with the calls of other such flows: many callers
// with a slow call each cannot take the slots of callers with fast calls. The scheduler serves those first. Their calls
// are not rejected because of the delay either, while slow calls keep all cores busy.
//
// The limiter has no queue: runnable calls are queued by the scheduler already. It accepts short bursts. While calls
// exceed the limit for longer than burstTime, further calls are rejected. A flow with fewer calls than its fair share is
// then still accepted, until twice the limit is reached. What a flow has beyond its share after a burst does not
// count for that.
type Limiter struct {
	cores, max int
	now        func() time.Duration // since the start
	delay      func() time.Duration // wait of runnable goroutines since the last call

	mu       sync.Mutex
	limit    int
	active   int // calls that are not paused
	fast     int // those of them that belong to flows with fast calls
	paused   int
	flows    map[string]int // active calls
	strict   bool           // bursts are rejected
	over     time.Duration  // since when, or when last if strict, calls exceed the limit
	exceeded bool           // over is valid
	history  history
	window   limiterStats
	last     limiterStats   // the previous window
	offered  map[string]int // calls in the window, by flow
	previous map[string]int // those in the previous window
	fair     float64        // calls of a flow in a window that are exempt from shedding
	shed     float64        // share of the calls to reject
	excess   float64        // relative error of the delay in the last window
	variants []*Rejection   // of the current window; nil: not built yet
	variant  int
}

// limiterStats are the counts of one window.
type limiterStats struct {
	begin, changed time.Duration
	activeTime     time.Duration // the sum of the time of all active calls
	completed      int
	rejected       int
}

// Reason is why a call is rejected.
type Reason string

// The reasons of rejections.
const (
	ReasonConcurrency Reason = "concurrency"   // the adaptive limit
	ReasonDelay       Reason = "delay"         // goroutines wait too long for a processor
	ReasonMaxInFlight Reason = "max_in_flight" // the fixed limit
)

// Rejection says why a call is rejected and when to retry. Several calls share one.
type Rejection struct {
	Reason Reason
	Limit  int
	Delay  time.Duration // already random

	once sync.Once
	err  error
}

// Error returns the result of the first call of build, so that the error of many rejections is built once.
func (r *Rejection) Error(build func(*Rejection) error) error {
	r.once.Do(func() { r.err = build(r) })
	return r.err
}

// LimiterOptions configure NewLimiter.
type LimiterOptions struct {
	Max   int                  // calls in flight, including paused ones; 0: unlimited
	Cores int                  // 0: GOMAXPROCS
	Now   func() time.Duration // a monotonic clock; nil: the clock of the system
	Delay func() time.Duration // wait of runnable goroutines since its last call; nil: that of this process
}

// NewLimiter returns a limiter without calls.
func NewLimiter(o LimiterOptions) *Limiter {
	if o.Now == nil {
		start := time.Now()
		o.Now = func() time.Duration { return time.Since(start) }
	}
	if o.Delay == nil {
		o.Delay = schedulerDelay()
	}
	l := &Limiter{
		cores: cmp.Or(o.Cores, runtime.GOMAXPROCS(0)), max: o.Max, now: o.Now, delay: o.Delay, flows: map[string]int{},
		offered: map[string]int{}, previous: map[string]int{}, history: history{recent: map[string]finished{}},
	}
	l.limit = callsPerCore * l.cores
	return l
}

// Admit reserves a slot for a call of a flow, or returns why it is rejected. A nil Limiter accepts every call.
func (l *Limiter) Admit(flow string) (*Slot, *Rejection) {
	if l == nil {
		return nil, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.advance()
	l.offered[flow]++
	if l.max > 0 && l.active+l.paused >= l.max {
		return nil, l.reject(ReasonMaxInFlight, l.max)
	}
	fast, active := l.history.fast(flow), l.active
	if fast {
		active = l.fast
	}
	if active >= l.limit && !l.admitsBeyond(flow, now) {
		return nil, l.reject(ReasonConcurrency, l.limit)
	}
	if l.strict && l.active < l.limit && now-l.over > calmTime {
		l.strict, l.exceeded = false, false
	}
	if slow := l.active - l.fast; (!fast || slow < l.cores) && l.sheds(flow) {
		return nil, l.reject(ReasonDelay, 0)
	}
	s := &Slot{of: l, flow: flow, fast: fast}
	l.activate(s, now)
	return s, nil
}

// admitsBeyond reports whether a call is accepted although the limit is reached.
func (l *Limiter) admitsBeyond(flow string, now time.Duration) bool {
	if !l.exceeded {
		l.exceeded, l.over = true, now
	}
	if !l.strict {
		if now-l.over < burstTime {
			return l.active < max(maxBurst, 2*l.limit)
		}
		l.strict = true
	}
	l.over = now
	mine := l.flows[flow]
	flows := len(l.flows)
	if mine == 0 {
		flows++
	}
	share := max(l.limit/flows, 1)
	if mine >= share || l.active < 2*l.limit {
		return mine < share
	}
	counted := 0 // without what the burst of a flow has beyond its share
	for _, n := range l.flows {
		if n > l.limit {
			n = share
		}
		counted += n
	}
	return counted < 2*l.limit
}

// sheds reports whether a call is rejected because goroutines wait too long.
func (l *Limiter) sheds(flow string) bool {
	return l.shed > 0 && float64(max(l.offered[flow], l.previous[flow])) > l.fair && rand.Float64() < l.shed //nolint:gosec // no secret
}

// reject counts a rejection and returns it.
func (l *Limiter) reject(why Reason, limit int) *Rejection {
	l.window.rejected++
	if l.variants == nil {
		delay := l.retryDelay()
		for range delayVariants {
			l.variants = append(l.variants, &Rejection{Reason: why, Limit: limit, Delay: delay/2 + rand.N(delay)}) //nolint:gosec // no secret
		}
	}
	l.variant = (l.variant + 1) % delayVariants
	if r := l.variants[l.variant]; r.Reason == why {
		return r
	}
	return &Rejection{Reason: why, Limit: limit, Delay: l.variants[l.variant].Delay}
}

// retryDelay returns how long the server would need for the calls that are in flight or were rejected within a second.
func (l *Limiter) retryDelay() time.Duration {
	s := l.last
	if s.completed == 0 {
		return time.Second
	}
	perSecond := int(time.Second / limiterWindow)
	calls := l.active + max(s.rejected, l.window.rejected)*perSecond
	delay := time.Duration(calls) * limiterWindow / time.Duration(s.completed)
	return min(max(delay, minRetryDelay), maxRetryDelay)
}

// advance accounts for the time since the last change, and ends the window if it is over. It returns the time.
func (l *Limiter) advance() time.Duration {
	now := l.now()
	w := &l.window
	w.activeTime += time.Duration(l.active) * (now - w.changed)
	w.changed = now
	if now-w.begin >= limiterWindow {
		l.adapt(now - w.begin)
		l.adaptShed(now - w.begin)
		l.last = *w
		*w = limiterStats{begin: now, changed: now}
		l.variants = nil
	}
	return now
}

// adapt sets the limit from a window. If hardly any call has waited for CPU, the window says nothing about the capacity.
func (l *Limiter) adapt(length time.Duration) {
	w := &l.window
	if w.activeTime < 2*time.Duration(l.cores)*length {
		return
	}
	l.limit = max(int(time.Duration(w.completed)*targetLatency/length), callsPerCore*l.cores)
}

// adaptShed changes the share of rejected calls by the delay of a window.
func (l *Limiter) adaptShed(length time.Duration) {
	before := l.excess
	l.excess = min(float64(l.delay()-targetDelay)/float64(targetDelay), maxDelayError)
	if l.strict { // calls reach the limiter
		l.excess = -1
	}
	change := gain * (l.excess + l.excess - before)
	if change < 0 { // also for the time without calls
		change *= float64(length) / float64(limiterWindow)
	}
	l.shed = min(max(l.shed+change, 0), maxShed)
	offered := 0
	for _, n := range l.offered {
		offered += n
	}
	if offered < minOffered*l.cores {
		l.shed = 0
	}
	l.fair = (1 - l.shed) * float64(offered) / float64(max(len(l.offered), 1))
	l.offered, l.previous = l.previous, l.offered
	clear(l.offered)
}

// LimiterState is the state of a Limiter for metrics.
type LimiterState struct {
	Limit, Active, Paused int
	Shed                  float64 // share of the calls rejected because goroutines wait too long
}

// State returns the state.
func (l *Limiter) State() LimiterState {
	if l == nil {
		return LimiterState{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return LimiterState{l.limit, l.active, l.paused, l.shed}
}

// A Slot is that of one call in flight.
type Slot struct {
	of   *Limiter
	flow string

	fast bool // the calls of the flow were fast

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
	l.history.add(s.flow, s.busy, l.window.changed)
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

// activate adds an active call.
func (l *Limiter) activate(s *Slot, now time.Duration) {
	s.since = now
	l.active++
	if s.fast {
		l.fast++
	}
	l.flows[s.flow]++
}

// deactivate removes an active call.
func (l *Limiter) deactivate(s *Slot) {
	s.busy += l.advance() - s.since
	l.active--
	if s.fast {
		l.fast--
	}
	if l.flows[s.flow]--; l.flows[s.flow] == 0 {
		delete(l.flows, s.flow)
	}
	if l.active < l.limit && !l.strict {
		l.exceeded = false
	}
}

// history counts the calls of flows that finished in the current second and in the one before.
type history struct {
	begin           time.Duration
	recent, earlier map[string]finished
}

// finished counts calls, and those of them that were active for at most fastLatency.
type finished struct{ calls, fast int }

const historyTime = time.Second

func (h *history) add(flow string, busy, now time.Duration) {
	if now-h.begin >= historyTime {
		h.begin, h.earlier, h.recent = now, h.recent, map[string]finished{}
	}
	f := h.recent[flow]
	f.calls++
	if busy <= fastLatency {
		f.fast++
	}
	h.recent[flow] = f
}

// fast reports whether most of the last calls of a flow were fast. A flow without calls is not fast.
func (h *history) fast(flow string) bool {
	a, b := h.recent[flow], h.earlier[flow]
	return 2*(a.fast+b.fast) > a.calls+b.calls
}

type slotKey struct{}

// WithSlot returns a context with the slot of a call.
func WithSlot(ctx context.Context, s *Slot) context.Context {
	if s == nil || SlotOf(ctx) == s {
		return ctx
	}
	return context.WithValue(ctx, slotKey{}, s)
}

// SlotOf returns the slot of a call, nil if it has none. The methods of a nil Slot do nothing.
func SlotOf(ctx context.Context) *Slot {
	s, _ := ctx.Value(slotKey{}).(*Slot)
	return s
}

// IsSlotKey reports whether a context must return its *Slot for a key.
func IsSlotKey(key any) bool { return key == slotKey{} }

// Pause stops counting the call of ctx while it waits for something other than CPU, until resume is called.
func Pause(ctx context.Context) (resume func()) { return SlotOf(ctx).Pause() }
