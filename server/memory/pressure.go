package memory

import (
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"time"
)

const (
	pressureInterval   = 100 * time.Millisecond
	collectionInterval = time.Second
)

// Pressure knows whether memory is short: whether the live heap of the last collection exceeds seven eighths of a limit.
// A nil Pressure has no limit. It is safe for concurrent use.
//
// While calls are rejected, little is allocated and a collection may be minutes away. So Short starts one every second.
type Pressure struct {
	limit   int64
	start   time.Time
	next    atomic.Int64 // time of the next check, in nanoseconds since start
	collect atomic.Int64 // time of the next collection
	short   atomic.Bool
}

// NewPressure returns the pressure on a limit in bytes. It is nil for 0, which is no limit.
func NewPressure(limit int64) *Pressure {
	if limit <= 0 {
		return nil
	}
	return &Pressure{limit: limit, start: time.Now()}
}

// Short reports whether memory is short.
func (p *Pressure) Short() bool {
	if p == nil {
		return false
	}
	now := int64(time.Since(p.start))
	if due := p.next.Load(); now >= due && p.next.CompareAndSwap(due, now+int64(pressureInterval)) {
		p.check(now)
	}
	return p.short.Load()
}

func (p *Pressure) check(now int64) {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	was := p.short.Swap(sample[0].Value.Uint64() > uint64(p.limit/8*7))
	if due := p.collect.Load(); p.short.Load() && now >= due && p.collect.CompareAndSwap(due, now+int64(collectionInterval)) && was {
		go runtime.GC()
	}
}
