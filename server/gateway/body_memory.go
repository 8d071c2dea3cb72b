package gateway

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// A body has bodyPatience to arrive, and a second more per bodyPace bytes received; drainPatience after a drain began.
const (
	bodyPatience  = 30 * time.Second
	bodyPace      = 512 << 10
	drainPatience = 2 * time.Second
)

// One reservedPart of the memory is reserved for bodies of at most smallBody bytes, so that a few large bodies, which
// may take minutes to arrive, do not block all others.
const (
	reservedPart = 8
	smallBody    = 1 << 20
)

// Bodies bounds the memory of a gateway's request bodies and the time to receive them. It is safe for concurrent use.
type Bodies struct {
	max           int64
	patience      time.Duration
	drainPatience time.Duration
	rejected      func()
	taken         atomic.Int64
	large         atomic.Int64 // the part of taken that belongs to bodies of more than small bytes
	small         int64

	mu       sync.Mutex
	arriving map[*pacedBody]struct{}
	deadline time.Time // of the bodies that were arriving when the server began to drain; zero: it does not drain
}

// NewBodies returns a bound of max bytes. rejected, if not nil, is called for every body that is rejected.
func NewBodies(max int64, rejected func()) *Bodies {
	if rejected == nil {
		rejected = func() {}
	}
	return &Bodies{
		max: max, patience: bodyPatience, drainPatience: drainPatience, rejected: rejected, small: min(smallBody, max/reservedPart),
		arriving: map[*pacedBody]struct{}{},
	}
}

// Taken returns how many bytes are held at this moment.
func (b *Bodies) Taken() int64 { return b.taken.Load() }

// Drain shortens the time of the bodies that have not arrived: the server is about to end.
func (b *Bodies) Drain() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.deadline.IsZero() {
		b.deadline = time.Now().Add(b.drainPatience)
		for p := range b.arriving {
			_ = p.control.SetReadDeadline(b.deadline)
		}
	}
}

func (b *Bodies) draining() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.deadline.IsZero()
}

// reservation is the memory that one body holds of Bodies.
type reservation struct {
	of    *Bodies
	taken int64
}

// take reserves n bytes more. The error is a status.
func (r *reservation) take(n int64) error {
	b := r.of
	before, after := b.largePart(r.taken), b.largePart(r.taken+n)
	if large := b.large.Add(after - before); after > 0 && large > b.max-b.max/reservedPart && large != after {
		b.large.Add(before - after)
		return b.reject(fmt.Sprintf("bodies of more than %d bytes would have %d bytes in memory, an eighth is reserved for smaller ones, and "+
			"--rest-body-bytes is %d", b.small, large, b.max))
	}
	if now := b.taken.Add(n); now > b.max {
		b.taken.Add(-n)
		b.large.Add(before - after)
		return b.reject(fmt.Sprintf("the bodies of all requests would have %d bytes in memory, and --rest-body-bytes is %d", now, b.max))
	}
	r.taken += n
	return nil
}

// largePart returns what counts as memory of a large body: all of it or nothing.
func (b *Bodies) largePart(taken int64) int64 {
	if taken > b.small {
		return taken
	}
	return 0
}

func (b *Bodies) reject(why string) error {
	b.rejected()
	return failure(crdevalv1.ErrorReason_ERROR_REASON_OVERLOADED,
		fmt.Sprintf("there is no memory for the body: %s: try again later, or send fewer items in a call", why),
		map[string]string{"limit": "rest_body_bytes", "maximum": fmt.Sprint(b.max)})
}

// give returns n bytes.
func (r *reservation) give(n int64) {
	r.of.taken.Add(-n)
	r.of.large.Add(r.of.largePart(r.taken-n) - r.of.largePart(r.taken))
	r.taken -= n
}

func (r *reservation) release() { r.give(r.taken) }

// pacedBody reads a body that has to arrive in time: the deadline moves only by what has arrived.
type pacedBody struct {
	body    io.Reader
	control *http.ResponseController
	of      *Bodies
	began   time.Time
	next    time.Time // the deadline of what has not been read
	set     bool
	unpaced bool // it may take any time
	read    int64
}

// newPaced returns a body whose time begins now. Its reader calls done at the end.
func (b *Bodies) newPaced(r *http.Request, control *http.ResponseController) *pacedBody {
	now := time.Now()
	return &pacedBody{body: r.Body, control: control, of: b, began: now, next: now.Add(b.patience)}
}

// Read implements io.Reader.
func (p *pacedBody) Read(to []byte) (n int, err error) {
	if p.unpaced {
		return p.body.Read(to)
	}
	if !p.set {
		p.setDeadline()
		p.set = true
	}
	n, err = p.body.Read(to)
	if paces := (p.read+int64(n))/bodyPace - p.read/bodyPace; paces > 0 {
		p.next, p.set = p.next.Add(time.Duration(paces)*time.Second), false
	}
	p.read += int64(n)
	return n, err
}

func (p *pacedBody) setDeadline() {
	b := p.of
	b.mu.Lock()
	defer b.mu.Unlock()
	b.arriving[p] = struct{}{}
	deadline := p.next
	if !b.deadline.IsZero() {
		last := p.began.Add(b.drainPatience)
		if last.Before(b.deadline) {
			last = b.deadline
		}
		if last.Before(deadline) {
			deadline = last
		}
	}
	_ = p.control.SetReadDeadline(deadline) // not every writer has deadlines
}

// done removes the deadline after the last read: it would end the call and not the reading.
func (p *pacedBody) done() {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	if _, arriving := p.of.arriving[p]; arriving {
		delete(p.of.arriving, p)
		_ = p.control.SetReadDeadline(time.Time{})
	}
}

// late returns the status of a body that has not arrived in time.
func (p *pacedBody) late(text string) error {
	if time.Now().Before(p.next) && p.of.draining() {
		return failure(crdevalv1.ErrorReason_ERROR_REASON_OVERLOADED,
			"the server is shutting down before the body has arrived: send it to another replica, or again", nil)
	}
	return failure(crdevalv1.ErrorReason_ERROR_REASON_DEADLINE, text, nil)
}
