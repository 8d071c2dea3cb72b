package call

import (
	"cmp"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"
)

// The constants of the adaptive limit.
const (
	// targetLatency is how long the calls at the limit take to finish: limit = completed calls per second × targetLatency.
	targetLatency = 5 * time.Millisecond
	// overloadLatency replaces targetLatency while more calls are rejected than finished.
	overloadLatency = time.Millisecond
	// callsPerCore bounds the limit from below, for calls that take longer than targetLatency.
	callsPerCore = 4
	// limiterWindow is the time over which completions are counted. The limit changes at the end of a window.
	limiterWindow = 100 * time.Millisecond
	// burstTime is how long the limit may be exceeded without a rejection, and maxBurst bounds the calls in flight then.
	burstTime = 100 * time.Millisecond
	maxBurst  = 256
	// calmTime is how long no call may exceed the limit before bursts are allowed again.
	calmTime = time.Second
	// The delay after which rejected calls should be retried.
	minRetryDelay = 100 * time.Millisecond
	maxRetryDelay = 10 * time.Second
	// delayVariants is the number of random delays in a window. Rejections are cached for each of them and each reason.
	delayVariants = 2
)

// Limiter limits the calls that run or wait for CPU. The limit follows Little's law: it is the number of calls that the
// server finishes within targetLatency, but at least callsPerCore for each core. So the time that calls wait for CPU
// stays short, whatever they cost. While it rejects more calls than it finishes, overloadLatency applies. Calls that
// wait for something else, such as a webhook, a client or a store, are paused and do not count.
//
// Calls can also wait for CPU before they reach the limiter, as goroutines of connections. So the limiter measures how
// long runnable goroutines wait for a processor. If they wait longer than targetDelay, it rejects a share of the calls,
// which a proportional-integral controller adapts. A caller that offers less than its fair share is exempt. The same
// applies to a call that has waited in its connection, unread, for longer than targetWait while all cores are busy: the
// longer, the more likely is its rejection. It is accepted while few calls are active, because all calls that arrived
// during a busy time have waited.
//
// A caller whose calls mostly finish within fastLatency competes only with the calls of other such callers: many
// callers with a slow call each cannot take the slots of callers with fast calls. The scheduler serves those first.
// Their calls are not rejected because of the delay either, while slow calls take most of the time.
//
// The limiter has no queue: runnable calls are queued by the scheduler already. It accepts short bursts. While calls
// exceed the limit for longer than burstTime, further calls are rejected. A caller with fewer calls than its fair share
// is then still accepted, until twice the limit is reached. What a caller has beyond its share after a burst does not
// count for that.
type Limiter struct {
	cores, max int
	now        func() time.Duration // since the start

	mu       sync.Mutex
	limit    int
	active   int // calls that are not paused
	fast     int // those of them that belong to callers with fast calls
	paused   int
	callers  map[string]int // active calls
	strict   bool           // bursts are rejected
	over     time.Duration  // since when, or when last if strict, calls exceed the limit
	exceeded bool           // over is valid
	history  history
	window   limiterStats
	last     limiterStats // the previous window
	shedding shedding
	variants map[Reason][]*Rejection // of the current window
	variant  int
}

// limiterStats are the counts of one window.
type limiterStats struct {
	begin, changed time.Duration
	activeTime     time.Duration // the sum of the time of all active calls
	slowTime       time.Duration // the part of callers without fast calls
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
	Cores int                  // 0: GOMAXPROCS+1, so that a server with one core accepts 8 calls
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
		cores: cmp.Or(o.Cores, runtime.GOMAXPROCS(0)+1), max: o.Max, now: o.Now, callers: map[string]int{}, variants: map[Reason][]*Rejection{},
		history:  history{recent: map[string]finished{}},
		shedding: shedding{delay: o.Delay, offered: map[string]int{}, previous: map[string]int{}},
	}
	l.limit = callsPerCore * l.cores
	return l
}

// Admit reserves a slot for a call of a caller, or returns why it is rejected. waited is how long the call has waited in
// its connection. A nil Limiter accepts every call.
func (l *Limiter) Admit(caller string, waited time.Duration) (*Slot, *Rejection) {
	if l == nil {
		return nil, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.advance()
	l.shedding.offered[caller]++
	if l.max > 0 && l.active+l.paused >= l.max {
		return nil, l.reject(ReasonMaxInFlight, l.max)
	}
	fast, active := l.history.fast(caller), l.active
	if fast {
		active = l.fast
	}
	if active >= l.limit && !l.admitsBeyond(caller, now) {
		return nil, l.reject(ReasonConcurrency, l.limit)
	}
	if l.strict && l.active < l.limit && now-l.over > calmTime {
		l.strict, l.exceeded = false, false
	}
	if l.active < callsPerCore*l.cores/2 {
		waited = 0 // a rejection would leave the cores idle
	}
	if (!fast || !l.slowCallsPrevail()) && l.shedding.rejects(caller, waited, l.window.rejected) {
		return nil, l.reject(ReasonDelay, 0)
	}
	s := &Slot{of: l, caller: caller, fast: fast}
	l.activate(s, now)
	return s, nil
}

// slowCallsPrevail reports whether slow calls keep all cores busy, or did most of the time in the previous window.
func (l *Limiter) slowCallsPrevail() bool {
	return l.active-l.fast >= l.cores || l.last.slowTime > l.last.activeTime/2
}

// admitsBeyond reports whether a call is accepted although the limit is reached.
func (l *Limiter) admitsBeyond(caller string, now time.Duration) bool {
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
	mine := l.callers[caller]
	callers := len(l.callers)
	if mine == 0 {
		callers++
	}
	share := max(l.limit/callers, 1)
	if mine >= share || l.active < 2*l.limit {
		return mine < share
	}
	counted := 0 // without what the burst of a caller has beyond its share
	for _, n := range l.callers {
		if n > l.limit {
			n = share
		}
		counted += n
	}
	return counted < 2*l.limit
}

// reject counts a rejection and returns it.
func (l *Limiter) reject(why Reason, limit int) *Rejection {
	l.window.rejected++
	variants := l.variants[why]
	if variants == nil {
		delay := l.retryDelay()
		for range delayVariants {
			variants = append(variants, &Rejection{Reason: why, Limit: limit, Delay: delay/2 + rand.N(delay)}) //nolint:gosec // no secret
		}
		l.variants[why] = variants
	}
	l.variant = (l.variant + 1) % delayVariants
	return variants[l.variant]
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
	w.slowTime += time.Duration(l.active-l.fast) * (now - w.changed)
	w.changed = now
	if now-w.begin >= limiterWindow {
		l.adapt(now - w.begin)
		l.shedding.adapt(*w, now-w.begin, l.cores, l.strict)
		l.last = *w
		*w = limiterStats{begin: now, changed: now}
		clear(l.variants)
	}
	return now
}

// adapt sets the limit from a window. If hardly any call has waited for CPU, the window says nothing about the capacity.
func (l *Limiter) adapt(length time.Duration) {
	w := &l.window
	if w.activeTime < 2*time.Duration(l.cores)*length {
		return
	}
	target := targetLatency
	if w.rejected > w.completed { // each finished call is replaced at once, so fewer calls keep the cores busy
		target = overloadLatency
	}
	l.limit = max(int(time.Duration(w.completed)*target/length), callsPerCore*l.cores)
}

// LimiterState is the state of a Limiter for metrics.
type LimiterState struct{ Limit, Active, Paused int }

// State returns the state.
func (l *Limiter) State() LimiterState {
	if l == nil {
		return LimiterState{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return LimiterState{l.limit, l.active, l.paused}
}

// activate adds an active call.
func (l *Limiter) activate(s *Slot, now time.Duration) {
	s.since = now
	l.active++
	if s.fast {
		l.fast++
	}
	l.callers[s.caller]++
}

// deactivate removes an active call.
func (l *Limiter) deactivate(s *Slot) {
	s.busy += l.advance() - s.since
	l.active--
	if s.fast {
		l.fast--
	}
	if l.callers[s.caller]--; l.callers[s.caller] == 0 {
		delete(l.callers, s.caller)
	}
	if l.active < l.limit && !l.strict {
		l.exceeded = false
	}
}
