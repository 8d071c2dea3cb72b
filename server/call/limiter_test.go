package call

import (
	"fmt"
	"testing"
	"time"
)

// limiterWorld has a limiter with one core and a clock.
type limiterWorld struct {
	*Limiter
	t     *testing.T
	clock time.Duration
	delay time.Duration // of goroutines
	slots []*Slot
}

func newLimiterWorld(t *testing.T, limit int) *limiterWorld {
	w := &limiterWorld{t: t}
	w.Limiter = NewLimiter(LimiterOptions{Max: limit, Cores: 1, Now: func() time.Duration { return w.clock }, Delay: func() time.Duration { return w.delay }})
	return w
}

// offer offers calls of a caller, and returns how many were accepted.
func (w *limiterWorld) offer(caller string, calls int) (accepted int) {
	for range calls {
		if s, rejection := w.Admit(caller, 0); rejection == nil {
			w.slots = append(w.slots, s)
			accepted++
		}
	}
	return accepted
}

// finish ends the calls in flight that were accepted first.
func (w *limiterWorld) finish(calls int) {
	for range min(calls, len(w.slots)) {
		w.slots[0].Release()
		w.slots = w.slots[1:]
	}
}

// overload offers offered calls and finishes at most done of them every step, until the time is over.
func (w *limiterWorld) overload(caller string, offered, done int, step, length time.Duration) (finished int) {
	for end := w.clock + length; w.clock < end; w.clock += step {
		w.offer(caller, offered)
		finished += min(done, len(w.slots))
		w.finish(done)
	}
	return finished
}

func (w *limiterWorld) mustActive(want int) {
	w.t.Helper()
	if s := w.State(); s.Active != want {
		w.t.Errorf("%+v, want %d active calls", s, want)
	}
}

func TestLimiterAcceptsBursts(t *testing.T) {
	w := newLimiterWorld(t, 0)
	if n := w.offer("a", 1000); n != maxBurst {
		t.Errorf("%d of 1000 calls were accepted, want %d", n, maxBurst)
	}
	w.finish(maxBurst)
	w.clock += burstTime / 2
	if n := w.offer("a", 100); n != 100 {
		t.Errorf("%d of 100 calls of the next burst were accepted", n)
	}
}

// TestLimiterFollowsThroughput checks that the calls in flight follow the rate of the server in an overload.
func TestLimiterFollowsThroughput(t *testing.T) {
	w := newLimiterWorld(t, 0)
	w.overload("a", 2, 1, 100*time.Microsecond, 2*time.Second) // 10,000 calls per second
	if s := w.State(); s.Limit < 45 || s.Limit > 55 || s.Active > s.Limit {
		t.Errorf("fast calls: %+v, want a limit of 50", s)
	}
	w.overload("a", 4, 1, 20*time.Millisecond, 10*time.Second)
	if s := w.State(); s.Limit != callsPerCore || s.Active > s.Limit {
		t.Errorf("slow calls: %+v, want a limit of %d", s, callsPerCore)
	}
	w.overload("a", 2, 1, 100*time.Microsecond, time.Second)
	if s := w.State(); s.Limit < 45 || s.Limit > 55 {
		t.Errorf("fast calls again: %+v, want a limit of 50", s)
	}
	w.overload("a", 4, 1, 100*time.Microsecond, time.Second)
	if s := w.State(); s.Limit < 9 || s.Limit > 11 || s.Active > s.Limit {
		t.Errorf("more rejected than finished: %+v, want a limit of 10", s)
	}
}

// TestLimiterAfterOverload checks that bursts are accepted again after an overload, and that an idle time does not
// change the limit.
func TestLimiterAfterOverload(t *testing.T) {
	w := newLimiterWorld(t, 0)
	w.overload("a", 4, 1, 100*time.Microsecond, time.Second)
	limit := w.State().Limit
	w.finish(len(w.slots))
	w.clock += calmTime / 2
	if n := w.offer("a", 200); n != limit {
		t.Errorf("%d calls were accepted directly after an overload, want the limit %d", n, limit)
	}
	w.finish(len(w.slots))
	w.clock += 2 * calmTime
	if n := w.offer("a", 200); n != 200 || w.State().Limit != limit {
		t.Errorf("%d of 200 calls were accepted long after an overload: %+v", n, w.State())
	}
}

func TestLimiterFairShare(t *testing.T) {
	w := newLimiterWorld(t, 0)
	w.overload("greedy", 4, 1, 20*time.Millisecond, 2*time.Second)
	w.offer("greedy", 10)
	w.mustActive(callsPerCore)
	if n := w.offer("other", 10); n != callsPerCore/2 {
		t.Errorf("%d calls of another caller were accepted, want half of the limit", n)
	}
	for i := range 20 {
		w.offer(string(rune('A'+i)), 1)
	}
	w.mustActive(2 * callsPerCore)
	// The greedy caller gets no slot while it has more than its share.
	w.finish(2)
	if n := w.offer("greedy", 1); n != 0 {
		t.Error("the greedy caller got a slot above its share")
	}
}

// TestLimiterPause checks that a call that waits for something else leaves its slot to others.
func TestLimiterPause(t *testing.T) {
	w := newLimiterWorld(t, 0)
	w.overload("a", 4, 1, 20*time.Millisecond, 2*time.Second)
	w.offer("a", 10)
	resume, again := w.slots[0].Pause(), w.slots[0].Pause()
	if n := w.offer("a", 10); n != 1 {
		t.Errorf("%d calls were accepted for one paused call", n)
	}
	resume()
	resume()
	w.mustActive(callsPerCore)
	again()
	w.mustActive(callsPerCore + 1)
	w.finish(1)
	w.mustActive(callsPerCore)
	w.slots[0].Pause()
	w.finish(100)
	if s := w.State(); s.Active != 0 || s.Paused != 0 || len(w.callers) != 0 {
		t.Errorf("%+v after all calls", s)
	}
}

// TestLimiterSheds checks that calls are rejected while goroutines wait too long although few calls are in flight, and
// that the calls of a caller that offers little are accepted.
func TestLimiterSheds(t *testing.T) {
	w := newLimiterWorld(t, 0)
	run := func(length time.Duration) (heavy, light int) {
		for end := w.clock + length; w.clock < end; w.clock += time.Millisecond {
			heavy += w.offer("heavy", 10)
			if w.clock%(10*time.Millisecond) == 0 {
				light += w.offer("light", 1)
			}
			w.finish(len(w.slots))
		}
		return heavy, light
	}
	if heavy, light := run(time.Second); heavy != 10_000 || light != 100 {
		t.Errorf("without delay, %d and %d calls were accepted", heavy, light)
	}
	w.delay = 5 * targetDelay
	run(2 * time.Second)
	if heavy, light := run(time.Second); heavy > 1000 || light != 100 || w.shedding.share != maxShed {
		t.Errorf("with a long delay, %d and %d calls were accepted, and a share of %v was shed", heavy, light, w.shedding.share)
	}
	w.delay = 0
	run(2 * time.Second)
	if heavy, light := run(time.Second); heavy != 10_000 || light != 100 {
		t.Errorf("after the delay, %d and %d calls were accepted", heavy, light)
	}
}

// TestLimiterWaited checks that calls that have waited in their connections are rejected while all cores are busy, but not
// those of a caller that offers little, and not so many that rejections take most of the time.
func TestLimiterWaited(t *testing.T) {
	accepted := func(busy bool, caller string, waited time.Duration) (n int) {
		w := newLimiterWorld(t, 0)
		if busy {
			w.overload("heavy", 2, 1, time.Millisecond, 2*time.Second)
		}
		for range 2 * limiterWindow / time.Millisecond { // calls of 1 ms, one after the other
			w.offer("heavy", 1)
			if w.clock%(20*time.Millisecond) == 0 {
				w.offer("light", 1)
			}
			if !busy {
				w.finish(len(w.slots))
			}
			w.clock += time.Millisecond
			w.finish(len(w.slots))
		}
		for range callsPerCore / 2 { // with fewer, the cores would be idle
			if _, r := w.Admit("heavy", 10*targetWait); r != nil {
				t.Errorf("a call is rejected while the cores are idle: %+v", r)
			}
		}
		for range maxRejected {
			if s, r := w.Admit(caller, waited); r == nil {
				n++
				s.Release()
			}
		}
		return n
	}
	for _, c := range []struct {
		name     string
		busy     bool
		caller   string
		waited   time.Duration
		min, max int
	}{
		{"no wait", true, "heavy", 0, maxRejected, maxRejected},
		{"a short wait", true, "heavy", targetWait, maxRejected, maxRejected},
		{"a long wait", true, "heavy", 10 * targetWait, 0, maxRejected / 5},
		{"a light caller", true, "light", 10 * targetWait, 2, maxRejected / 5},
		{"free cores", false, "heavy", 10 * targetWait, maxRejected, maxRejected},
	} {
		if n := accepted(c.busy, c.caller, c.waited); n < c.min || n > c.max {
			t.Errorf("%s: %d of %d calls are accepted", c.name, n, maxRejected)
		}
	}
	w := newLimiterWorld(t, 0)
	w.offer("a", callsPerCore/2)
	w.shedding.budget, w.window.rejected = maxRejected, maxRejected
	if _, r := w.Admit("a", time.Second); r != nil {
		t.Errorf("a rejection beyond the budget: %+v", r)
	}
}

func TestLimiterMax(t *testing.T) {
	w := newLimiterWorld(t, 3)
	w.offer("a", 1)
	w.slots[0].Pause()
	if n := w.offer("a", 10); n != 2 {
		t.Errorf("%d calls were accepted beside a paused one, want 2 of 3", n)
	}
	if _, r := w.Admit("a", 0); r == nil || r.Reason != ReasonMaxInFlight || r.Limit != 3 {
		t.Errorf("%+v", r)
	}
}

// TestRetryDelays checks that the delay grows with the rejected calls, and that rejections share their errors.
func TestRetryDelays(t *testing.T) {
	mean := func(offered int) (sum time.Duration) {
		w := newLimiterWorld(t, 0)
		w.overload("a", offered, 1, time.Millisecond, time.Second)
		w.offer("a", 100)
		errs := map[error]bool{}
		for range 10 * delayVariants {
			_, r := w.Admit("a", 0)
			errs[r.Error(func(*Rejection) error { return errTest{new(int)} })] = true
			sum += r.Delay / (10 * delayVariants)
		}
		if len(errs) != delayVariants {
			t.Errorf("%d errors, want %d", len(errs), delayVariants)
		}
		return sum
	}
	if double, fourfold := mean(2), mean(4); double < 500*time.Millisecond || double > 2*time.Second || fourfold < 3*time.Second/2 || fourfold > 6*time.Second {
		t.Errorf("mean delays: %v at twice the capacity, %v at four times", double, fourfold)
	}
}

type errTest struct{ of *int }

func (errTest) Error() string { return "test" }

// TestRejectionsOfSeveralReasons: rejections share their errors although their reasons alternate.
func TestRejectionsOfSeveralReasons(t *testing.T) {
	w := newLimiterWorld(t, 3)
	w.offer("a", 3)
	built := 0
	for i := range 100 {
		w.max = 3 + i%2*100
		w.strict, w.exceeded, w.limit = true, true, 3
		_, r := w.Admit("a", 0)
		if r == nil || (r.Reason == ReasonMaxInFlight) != (i%2 == 0) {
			t.Fatalf("%d: %+v", i, r)
		}
		_ = r.Error(func(*Rejection) error { built++; return errTest{new(int)} })
	}
	if built > 2*delayVariants {
		t.Errorf("%d errors were built", built)
	}
}

// TestLimiterAfterBurst: the burst of a caller with slow calls does not keep others out while these calls run.
func TestLimiterAfterBurst(t *testing.T) {
	w := newLimiterWorld(t, 0)
	w.offer("slow", 300)
	for range 10 {
		w.clock += 2 * burstTime
		if n := w.offer("slow", 1); n != 0 {
			t.Error("a caller beyond its share is accepted")
		}
		if n := w.offer("other", callsPerCore); n != callsPerCore/2 {
			t.Errorf("%d calls of another caller are accepted, want half of the limit", n)
		}
		w.clock += 2 * fastLatency
		for _, s := range w.slots[maxBurst:] {
			s.Release()
		}
		w.slots = w.slots[:maxBurst]
	}
}

// TestLimiterFastCallers: many callers with a slow call each do not keep out a caller whose calls are fast.
func TestLimiterFastCallers(t *testing.T) {
	w := newLimiterWorld(t, 0)
	w.offer("fast", 1)
	w.clock += fastLatency / 2
	w.slots[0].Release()
	w.slots = nil
	for range 5 {
		for i := range 1000 {
			w.offer(fmt.Sprint("slow", i), 1)
		}
		w.clock += 2 * burstTime
	}
	if w.offer("unknown", 1) != 0 {
		t.Error("a caller without calls is accepted beyond twice the limit")
	}
	for range 3 * historyTime / limiterWindow {
		if n := w.offer("fast", callsPerCore); n != callsPerCore {
			t.Fatalf("%d of %d fast calls are accepted", n, callsPerCore)
		}
		w.clock += fastLatency / 2
		for _, s := range w.slots[len(w.slots)-callsPerCore:] {
			s.Release()
		}
		w.slots = w.slots[:len(w.slots)-callsPerCore]
		w.clock += limiterWindow
	}
	if n := w.offer("fast", 1000); n > 2*maxBurst {
		t.Errorf("%d fast calls are accepted at a time", n)
	}
}

// TestLimiterShedsSlowCallersOnly: fast calls are accepted while goroutines wait because of the slow calls of another
// caller, also when these calls wait for something else for a moment.
func TestLimiterShedsSlowCallersOnly(t *testing.T) {
	w := newLimiterWorld(t, 0)
	w.delay = 5 * targetDelay
	accepted, offered := 0, 0
	for range 3 * time.Second / limiterWindow {
		slow, _ := w.Admit("slow", 0)
		for ms := range limiterWindow / time.Millisecond {
			if ms == 60 && slow != nil {
				slow.Pause()
			}
			accepted += w.offer("fast", 10)
			offered += 10
			w.finish(len(w.slots))
			w.clock += time.Millisecond
		}
		slow.Release()
	}
	if accepted < offered*9/10 {
		t.Errorf("%d of %d fast calls were accepted", accepted, offered)
	}
}
