package conversion

import (
	"context"
	"fmt"
	"sync"
)

// load bounds the calls that run and the memory of their responses, for each host and for all hosts. It rejects what
// exceeds a bound instead of queueing it, so that a host that hangs cannot occupy all calls of the server.
type load struct {
	// maxCalls and maxBytes bound one host. hostCalls and hostBytes hosts together reach the bound of all hosts.
	maxCalls int64
	maxBytes int64

	mu    sync.Mutex
	all   usage
	hosts map[string]usage
}

// usage is the number of calls that run and the bytes of their responses.
type usage struct{ calls, bytes int64 }

const (
	hostCalls = 2
	hostBytes = 4
)

// add adds to the usage of a host, or returns a failure with Busy. n may be negative.
func (l *load) add(host string, n usage) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := usage{l.hosts[host].calls + n.calls, l.hosts[host].bytes + n.bytes}
	all := usage{l.all.calls + n.calls, l.all.bytes + n.bytes}
	busy := func(format string, args ...any) error { return &failure{Busy, fmt.Errorf(format, args...)} }
	switch {
	case n.calls > 0 && one.calls > l.maxCalls:
		return busy("%d calls of %s are in flight, the limit: try again later", l.maxCalls, host)
	case n.calls > 0 && all.calls > l.maxCalls*hostCalls:
		return busy("%d calls are in flight, the limit: try again later", l.maxCalls*hostCalls)
	case n.bytes > 0 && one.bytes > l.maxBytes:
		return busy("the responses of %s take more than %d bytes, the limit: try again later, or send fewer objects",
			host, l.maxBytes)
	case n.bytes > 0 && all.bytes > l.maxBytes*hostBytes:
		return busy("responses take more than %d bytes, the limit: try again later, or send fewer objects",
			l.maxBytes*hostBytes)
	}
	if l.all, l.hosts[host] = all, one; one == (usage{}) {
		delete(l.hosts, host)
	}
	return nil
}

// reservation is the memory that a batch has taken for responses. It ends with the batch, because results refer to the
// responses.
type reservation struct {
	mu     sync.Mutex
	ended  bool
	of     *load
	byHost map[string]int64
}

type reservationKey struct{}

// withReservation returns a context with a reservation, and a function that releases it. The reservation of a batch is
// used if there is one. It is released at the end of the batch.
func withReservation(ctx context.Context) (context.Context, func()) {
	if _, found := ctx.Value(groupKey{}).(*group); found {
		return ctx, func() {}
	}
	r := &reservation{}
	return context.WithValue(ctx, reservationKey{}, r), r.release
}

// reservationOf returns the reservation of a call.
func reservationOf(ctx context.Context) *reservation {
	if g, found := ctx.Value(groupKey{}).(*group); found {
		return &g.memory
	}
	return ctx.Value(reservationKey{}).(*reservation)
}

// take takes n bytes for the response of a host.
func (r *reservation) take(l *load, host string, n int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return context.Canceled
	}
	if err := l.add(host, usage{bytes: n}); err != nil {
		return err
	}
	if r.byHost == nil {
		r.of, r.byHost = l, map[string]int64{}
	}
	r.byHost[host] += n
	return nil
}

// release returns all memory.
func (r *reservation) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	for host, n := range r.byHost {
		_ = r.of.add(host, usage{bytes: -n})
	}
	r.byHost = nil
}
