package call

import (
	"math/rand/v2"
	"runtime/metrics"
	"time"
)

const (
	// targetDelay is how long goroutines that begin calls may wait for a processor.
	targetDelay = 100 * time.Millisecond
	// targetWait is how long calls may wait in their connections, unread, while all cores are busy.
	targetWait = 2 * time.Millisecond
	// maxRejected is the number of rejected calls in a window, for each core, above which no call is rejected because it
	// has waited: a rejection takes about 10 µs, and a server that only rejects answers nothing.
	maxRejected = 700
	// minOffered is the number of calls in a window, for each core, below which no call is rejected because of the delay:
	// then other processes cause it.
	minOffered = 8
	// gain is how much the share of rejected calls changes in a window for a relative error of 1, and for its change.
	gain = 0.05
	// maxDelayError bounds the relative error, maxShed the share of rejected calls.
	maxDelayError, maxShed = 4, 0.95
)

// shedding rejects a share of the calls while goroutines wait too long for a processor, or calls in their connections.
type shedding struct {
	delay    func() time.Duration // wait of runnable goroutines since the last call
	offered  map[string]int       // calls in the window, by caller
	previous map[string]int       // those in the previous window
	fair     float64              // calls of a caller in a window that are exempt
	share    float64              // of the calls to reject
	excess   float64              // relative error of the delay in the last window
	budget   int                  // rejections in a window that are possible because calls waited
}

// rejects reports whether a call is rejected because goroutines wait too long, or because the call has waited too long
// in its connection.
func (s *shedding) rejects(caller string, waited time.Duration, rejected int) bool {
	share := s.share
	if rejected < s.budget {
		share = max(share, min(excess(waited, targetWait), maxShed))
	}
	return share > 0 && float64(max(s.offered[caller], s.previous[caller])) > s.fair && rand.Float64() < share //nolint:gosec // no secret
}

// adapt changes the share of rejected calls by the delay of a window. If limited, the Limiter rejects calls above its
// limit, and the share decreases.
func (s *shedding) adapt(w limiterStats, length time.Duration, cores int, limited bool) {
	before := s.excess
	s.excess = excess(s.delay(), targetDelay)
	if limited {
		s.excess = -1
	}
	change := gain * (s.excess + s.excess - before)
	if change < 0 { // also for the time without calls
		change *= float64(length) / float64(limiterWindow)
	}
	s.share = min(max(s.share+change, 0), maxShed)
	offered := 0
	for _, n := range s.offered {
		offered += n
	}
	s.budget = 0
	if w.activeTime >= time.Duration(cores)*length/2 { // all cores are busy
		s.budget = maxRejected * cores
	}
	if offered < minOffered*cores {
		s.share, s.budget = 0, 0
	}
	s.fair = float64(offered-w.rejected) / float64(max(len(s.offered), 1))
	s.offered, s.previous = s.previous, s.offered
	clear(s.offered)
}

// excess returns the relative error of a delay.
func excess(delay, target time.Duration) float64 {
	return min(float64(delay-target)/float64(target), maxDelayError)
}

// schedulerDelay returns a function that returns how long goroutines of this process were runnable before they ran, since
// its last call. It is the mean of the delays, each weighted by itself: most goroutines continue what others began and
// hardly wait, but those that begin a call do. It is not safe for concurrent use.
func schedulerDelay() func() time.Duration {
	sample := []metrics.Sample{{Name: "/sched/latencies:seconds"}}
	var before []uint64
	return func() time.Duration {
		metrics.Read(sample)
		h := sample[0].Value.Float64Histogram()
		if before == nil {
			before = make([]uint64, len(h.Counts))
		}
		var sum, squares float64
		for i, n := range h.Counts {
			n, before[i] = n-before[i], n
			if i > 0 { // the first bucket begins at minus infinity
				sum += float64(n) * h.Buckets[i]
				squares += float64(n) * h.Buckets[i] * h.Buckets[i]
			}
		}
		if sum == 0 {
			return 0
		}
		return time.Duration(squares / sum * float64(time.Second))
	}
}
