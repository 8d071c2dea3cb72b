package load

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestGenerators: latencies count from the scheduled time, and rates count successful calls only.
func TestGenerators(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := make(chan struct{}, 1) // the server serves one call at a time, 50 per second
		serve := func(context.Context) error {
			busy <- struct{}{}
			time.Sleep(20 * time.Millisecond)
			<-busy
			return nil
		}
		closed := closedLoop(t.Context(), 5, 10*time.Second, serve)
		if rate := closed.rate(); rate < 49 || rate > 51 {
			t.Errorf("a closed loop made %v calls per second, want 50", rate)
		}
		open := openLoop(t.Context(), 100, 10*time.Second, serve)
		if n := open.calls; n < 800 || n > 1200 {
			t.Errorf("an open loop made %d calls in 10 s, want 1,000", n)
		}
		if p99 := open.latency.quantile(0.99); p99 < 7*time.Second {
			t.Errorf("the p99 of an open loop at twice the capacity is %v, want about 10 s", p99)
		}
		failed := closedLoop(t.Context(), 1, time.Second, func(context.Context) error {
			time.Sleep(100 * time.Millisecond)
			return status.Error(codes.Unavailable, "")
		})
		if failed.rate() != 0 || failed.failures["Unavailable"] < 9 {
			t.Errorf("failures: %v", failed)
		}
	})
}

func TestHistogram(t *testing.T) {
	var h histogram
	for i := range 1000 {
		h.add(time.Duration(i) * time.Millisecond)
	}
	for q, want := range map[float64]time.Duration{0.5: 500 * time.Millisecond, 0.99: 990 * time.Millisecond, 1: 999 * time.Millisecond} {
		if got := h.quantile(q); got < want-want/50 || got > want+want/50 {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
}

func TestTrend(t *testing.T) {
	for _, tc := range []struct {
		values       []float64
		mean, growth float64
	}{
		{[]float64{5, 5, 5}, 5, 0},
		{[]float64{1, 2, 3, 4}, 2.5, 3},
		{[]float64{2}, 2, 0},
	} {
		if mean, growth := trend(tc.values); mean != tc.mean || growth != tc.growth {
			t.Errorf("the trend of %v has mean %v and growth %v, want %v and %v", tc.values, mean, growth, tc.mean, tc.growth)
		}
	}
}
