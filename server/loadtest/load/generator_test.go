package load

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"
)

// outcome counts the calls of a generator. It is safe for concurrent use while the generator runs.
type outcome struct {
	elapsed time.Duration

	mu       sync.Mutex
	calls    int            // successful ones
	latency  histogram      // of successful calls, and of calls that took long when the measurement ended
	failures map[string]int // by code and reason
	failure  error          // one of them
}

// record adds a call.
func (o *outcome) record(latency time.Duration, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err == nil {
		o.calls++
		o.latency.add(latency)
		return
	}
	if o.failures == nil {
		o.failures = map[string]int{}
	}
	o.failures[kindOf(err)]++
	o.failure = err
}

// interrupt adds a call that the end of the measurement interrupts. Its latency counts if it is already long: the call
// waits behind others.
func (o *outcome) interrupt(latency time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if latency > o.latency.quantile(0.99) {
		o.latency.add(latency)
	}
}

// kindOf returns the code of an error, and its reason if it has one.
func kindOf(err error) string {
	s := status.Convert(err)
	for _, detail := range s.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			return s.Code().String() + "/" + info.GetReason()
		}
	}
	return s.Code().String()
}

// rate returns the successful calls per second.
func (o *outcome) rate() float64 { return float64(o.calls) / o.elapsed.Seconds() }

// failed returns the number of failed calls.
func (o *outcome) failed() (n int) {
	for _, count := range o.failures {
		n += count
	}
	return n
}

// String returns the figures on one line.
func (o *outcome) String() string {
	text := fmt.Sprintf("%.0f/s, p50 %v, p99 %v, max %v", o.rate(), o.latency.quantile(0.5), o.latency.quantile(0.99), o.latency.max)
	for _, kind := range slices.Sorted(maps.Keys(o.failures)) {
		text += fmt.Sprintf(", %d %s", o.failures[kind], kind)
	}
	if o.failure != nil {
		text += fmt.Sprintf(" (%.200v)", o.failure)
	}
	return text
}

// closedLoop has callers that each make one call after the other for a time.
func closedLoop(ctx context.Context, callers int, d time.Duration, call func(context.Context) error) *outcome {
	ctx, cancel := context.WithCancel(ctx) // not a deadline, which the calls would send
	defer cancel()
	defer time.AfterFunc(d, cancel).Stop()
	o, begin := &outcome{}, time.Now()
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for ctx.Err() == nil {
				begin := time.Now()
				err := call(ctx)
				if ctx.Err() != nil {
					o.interrupt(time.Since(begin))
					return
				}
				o.record(time.Since(begin), err)
			}
		})
	}
	wg.Wait()
	o.elapsed = time.Since(begin)
	return o
}

// maxOutstanding bounds the calls of an open loop that have no answer yet.
const maxOutstanding = 20_000

// openLoop makes calls at random times for a time, rate of them per second on average. It does not wait for answers, so
// a slow server does not slow it down. Latency counts from the scheduled time of a call. After the time, it waits for
// the answers. A call that would exceed maxOutstanding counts as a failure "not sent".
func openLoop(ctx context.Context, rate float64, d time.Duration, call func(context.Context) error) *outcome {
	o, begin := &outcome{}, time.Now()
	var wg sync.WaitGroup
	var outstanding atomic.Int64
	for at := time.Duration(0); ctx.Err() == nil; {
		at += time.Duration(rand.ExpFloat64() / rate * float64(time.Second))
		if at > d {
			break
		}
		if wait := time.Until(begin.Add(at)); wait > 100*time.Microsecond {
			time.Sleep(wait)
		}
		if outstanding.Add(1) > maxOutstanding {
			outstanding.Add(-1)
			o.record(0, errNotSent)
			continue
		}
		wg.Go(func() {
			err := call(ctx)
			o.record(time.Since(begin.Add(at)), err)
			outstanding.Add(-1)
		})
	}
	wg.Wait()
	o.elapsed = d
	return o
}

var errNotSent = status.Error(0xff, "not sent: too many calls without an answer")

// histogram counts durations in buckets whose width is 2% of their value.
type histogram struct {
	buckets [900]int
	count   int
	max     time.Duration
}

const bucketGrowth = 1.02

// add counts a duration. Buckets begin at 1 µs and end at 55 s.
func (h *histogram) add(d time.Duration) {
	i := int(math.Log(max(d.Seconds()*1e6, 1)) / math.Log(bucketGrowth))
	h.buckets[min(i, len(h.buckets)-1)]++
	h.count++
	h.max = max(h.max, d)
}

// quantile returns the upper end of the bucket with the quantile, at most the maximum.
func (h *histogram) quantile(q float64) time.Duration {
	rank := int(math.Ceil(q * float64(h.count)))
	for i, n := range h.buckets {
		if rank -= n; rank <= 0 && h.count > 0 && i < len(h.buckets)-1 {
			d := time.Duration(math.Pow(bucketGrowth, float64(i+1)) * float64(time.Microsecond))
			return min(d, h.max).Round(10 * time.Microsecond)
		}
	}
	return h.max
}

// reconnectPause is the time before a client of forever returns after an error.
const reconnectPause = 200 * time.Millisecond

// forever runs n copies of a client again and again until ctx ends.
func forever(ctx context.Context, n int, client func(context.Context) error) error {
	var wg sync.WaitGroup
	var last atomic.Pointer[error]
	for range n {
		wg.Go(func() {
			for ctx.Err() == nil {
				if err := client(ctx); err != nil && ctx.Err() == nil {
					last.Store(&err)
					select {
					case <-time.After(reconnectPause):
					case <-ctx.Done():
					}
				}
			}
		})
	}
	wg.Wait()
	return *cmp.Or(last.Load(), new(error))
}

// repeated returns a text n times, with a separator.
func repeated(text string, n int, separator string) string {
	return strings.TrimSuffix(strings.Repeat(text+separator, n), separator)
}
