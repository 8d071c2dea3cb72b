package flow

import (
	"runtime/metrics"
	"time"
)

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
