package conversion

import (
	"context"
	"fmt"
	"sync"
)

// load bounds the calls that run and the memory of their responses, for each webhook and each host, and in total. It
// rejects what exceeds a bound instead of queueing it, so that webhooks that hang cannot occupy all calls of the server.
type load struct {
	limits [3]usage // in total, of a host, and of a webhook; half the calls if client.works is false

	mu   sync.Mutex
	used map[any]usage // by nil, host (host:port) and *client
}

// usage is the number of calls that run and the bytes of their responses.
type usage struct{ calls, bytes int64 }

// newLoad returns a load for calls at a time, and responses of up to maxBytes.
func newLoad(calls, maxBytes int64) load {
	return load{used: map[any]usage{}, limits: [3]usage{
		{max(calls, 1), 4 * maxBytes}, {max(calls, 1), maxBytes / 4}, {max(calls*3/4, 1), maxBytes / 4},
	}}
}

// add adds to the usage of a webhook, or returns a failure with Busy. n can be negative. own is the number of bytes
// that the caller already has. If no other caller has bytes of the host, the limit is four times as high.
func (l *load) add(w *client, n usage, own int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	keys, names := [3]any{nil, w.host, w}, [3]string{"webhooks", w.host, "this webhook"}
	var now [3]usage
	for i, limit := range l.limits {
		now[i] = usage{l.used[keys[i]].calls + n.calls, l.used[keys[i]].bytes + n.bytes}
		if i > 0 && now[i].bytes <= own+n.bytes { // no other caller has some
			limit.bytes = l.limits[0].bytes / 4
		}
		if !w.works.Load() {
			limit.calls = max(limit.calls/2, 1)
		}
		switch {
		case n.calls > 0 && now[i].calls > limit.calls:
			return &failure{Busy, fmt.Errorf("%d calls of %s are in flight, the limit: try again later", limit.calls, names[i])}
		case n.bytes > 0 && now[i].bytes > limit.bytes:
			return &failure{Busy, fmt.Errorf("responses of %s take more than %d bytes, the limit: "+
				"try again later, or send fewer objects", names[i], limit.bytes)}
		}
	}
	for i, key := range keys {
		if l.used[key] = now[i]; now[i] == (usage{}) {
			delete(l.used, key)
		}
	}
	return nil
}

// reservation is the memory that the responses of a batch take. It ends with the batch, because results refer to the
// responses.
type reservation struct {
	mu    sync.Mutex
	ended bool
	of    *load
	total int64
	bytes map[*client]int64
}

type reservationKey struct{}

// Reserve returns a context whose conversions keep the memory that they reserve for responses, and a function that
// releases this memory. Run does this for a batch.
func Reserve(ctx context.Context) (context.Context, func()) {
	if reservationOf(ctx) != nil {
		return ctx, func() {}
	}
	r := &reservation{}
	return context.WithValue(ctx, reservationKey{}, r), r.release
}

// reservationOf returns the reservation of a context, or nil.
func reservationOf(ctx context.Context) *reservation {
	if g, found := ctx.Value(groupKey{}).(*group); found {
		return &g.memory
	}
	r, _ := ctx.Value(reservationKey{}).(*reservation)
	return r
}

// take reserves n bytes for the response of a webhook.
func (r *reservation) take(l *load, w *client, n int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return context.Canceled
	}
	if err := l.add(w, usage{bytes: n}, r.total); err != nil {
		return err
	}
	if r.bytes == nil {
		r.of, r.bytes = l, map[*client]int64{}
	}
	r.bytes[w] += n
	r.total += n
	return nil
}

// release returns all memory.
func (r *reservation) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	for w, n := range r.bytes {
		_ = r.of.add(w, usage{bytes: -n}, 0)
	}
	r.bytes = nil
}
