package conversion

import (
	"context"
	"fmt"
	"sync"
)

// load bounds the calls that run, and the memory for their responses. It rejects what exceeds a bound instead of queueing
// it, so that webhooks that hang cannot occupy all calls of the server.
type load struct {
	maxCalls [2]int64 // in total, and of a webhook; half of them if client.works is false
	// maxMemory bounds the memory for the responses of a host. A single batch can have three times as much, and all hosts
	// four times. So the responses of one batch leave memory to other hosts.
	maxMemory int64

	mu     sync.Mutex
	calls  map[*client]int64 // by webhook, and in total by nil
	memory map[string]int64  // by host (host:port), and in total by ""
}

// newLoad returns a load for calls at a time, and responses of up to maxBytes.
func newLoad(calls, maxBytes int64) load {
	return load{
		calls: map[*client]int64{}, memory: map[string]int64{},
		maxCalls: [2]int64{max(calls, 1), max(calls*3/4, 1)}, maxMemory: maxBytes,
	}
}

// begin begins a call, or returns a failure with Busy. The caller calls end at the end of the call.
func (l *load) begin(w *client) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	names := [2]string{"conversion webhooks", "this webhook of " + w.host}
	for i, key := range []*client{nil, w} {
		limit, which := l.maxCalls[i], ""
		if !w.works.Load() {
			limit, which = max(limit/2, 1), " for webhooks that do not answer"
		}
		if l.calls[key] >= limit {
			return &failure{Busy, fmt.Errorf("%d calls of %s are in flight, the limit%s: try again later, or raise --max-in-flight",
				limit, names[i], which)}
		}
	}
	for _, key := range []*client{nil, w} {
		l.calls[key]++
	}
	return nil
}

// end ends a call.
func (l *load) end(w *client) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, key := range []*client{nil, w} {
		if l.calls[key]--; l.calls[key] == 0 {
			delete(l.calls, key)
		}
	}
}

// take reserves n bytes of memory for responses of a host. own is the number of bytes of that host that the batch already
// has. The error is a failure: TooLarge if the batch alone exceeds its limit, otherwise Busy.
func (l *load) take(host string, n, own int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	ofHost, total, limit := l.memory[host]+n, l.memory[""]+n, 4*l.maxMemory
	if ofHost > l.maxMemory {
		limit = 3 * l.maxMemory
	}
	switch {
	case own+n > 3*l.maxMemory:
		return &failure{TooLarge, fmt.Errorf(
			"the responses of %s to this request need more than %d bytes of memory, the limit: send fewer objects, or smaller ones",
			host, 3*l.maxMemory)}
	case ofHost > l.maxMemory && ofHost > own+n: // the host has responses for other batches
		return &failure{Busy, fmt.Errorf("responses of %s need more than %d bytes of memory, the limit for a host: "+
			"try again later, or send fewer objects", host, l.maxMemory)}
	case total > limit:
		return &failure{Busy, fmt.Errorf("responses of %s and other hosts need more than %d bytes of memory, the limit: "+
			"try again later, or send fewer objects", host, limit)}
	}
	l.memory[host], l.memory[""] = ofHost, total
	return nil
}

// release returns n bytes.
func (l *load) release(host string, n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, key := range []string{host, ""} {
		if l.memory[key] -= n; l.memory[key] == 0 {
			delete(l.memory, key)
		}
	}
}

// reservation is the memory that the responses of a request take. It ends with the request, because results refer to the
// responses.
type reservation struct {
	ctx   context.Context //nolint:containedctx // of the request, with the reservation
	group group

	mu    sync.Mutex
	ended bool
	of    *load
	bytes map[string]int64 // by host
}

type batchKey struct{}

// batchContext is what the context of a batch has, and that of a call of a webhook for it.
type batchContext struct {
	reservation   *reservation
	requestWeight int64 // of the call
}

// reserve returns a reservation for calls with a context.
func reserve(ctx context.Context) *reservation {
	r := &reservation{}
	r.ctx = r.within(ctx)
	return r
}

// within returns a context for calls with the reservation.
func (r *reservation) within(ctx context.Context) context.Context {
	return context.WithValue(ctx, batchKey{}, batchContext{reservation: r})
}

// Reserve returns a context whose conversions keep the memory that they reserve for responses, and a function that
// releases this memory. The items of a flow.Pool need it not: they share a reservation, and calls.
func Reserve(ctx context.Context) (context.Context, func()) {
	if reservationOf(ctx) != nil {
		return ctx, func() {}
	}
	r := reserve(ctx)
	return r.ctx, r.release
}

// reservationOf returns the reservation of a context, or nil.
func reservationOf(ctx context.Context) *reservation {
	of, _ := ctx.Value(batchKey{}).(batchContext)
	return of.reservation
}

// take reserves n bytes for the response of a host.
func (r *reservation) take(l *load, host string, n int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return context.Canceled
	}
	if err := l.take(host, n, r.bytes[host]); err != nil {
		return err
	}
	if r.bytes == nil {
		r.of, r.bytes = l, map[string]int64{}
	}
	r.bytes[host] += n
	return nil
}

// give returns n bytes at once.
func (r *reservation) give(host string, n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n > 0 && !r.ended {
		r.bytes[host] -= n
		r.of.release(host, n)
	}
}

// release returns all memory.
func (r *reservation) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	for host, n := range r.bytes {
		r.of.release(host, n)
	}
	r.bytes = nil
}
