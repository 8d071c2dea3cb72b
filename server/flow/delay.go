package flow

import (
	"runtime/metrics"
	"time"
)

// schedulerDelay returns a function that returns how long goroutines of this process were runnable before they ran, on
// average since its last call. It is not safe for concurrent use.
func schedulerDelay() func() time.Duration {
	sample := []metrics.Sample{{Name: "/sched/latencies:seconds"}}
	var before []uint64
	return func() time.Duration {
		metrics.Read(sample)
		h := sample[0].Value.Float64Histogram()
		if before == nil {
			before = make([]uint64, len(h.Counts))
		}
		var count uint64
		var sum float64
		for i, n := range h.Counts {
			n, before[i] = n-before[i], n
			count += n
			if i > 0 { // the first bucket begins at minus infinity
				sum += float64(n) * h.Buckets[i]
			}
		}
		if count == 0 {
			return 0
		}
		return time.Duration(sum / float64(count) * float64(time.Second))
	}
}
