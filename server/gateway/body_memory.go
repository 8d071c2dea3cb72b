package gateway

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/api"
	"github.com/crdeval/crdeval/server/call"
	"github.com/crdeval/crdeval/server/transport"
)

// Bodies bounds the time to receive the bodies of a gateway. It is safe for concurrent use.
type Bodies struct {
	patience, drainPatience, discardPatience time.Duration
	rejected                                 func()

	mu       sync.Mutex
	arriving map[*pacedBody]struct{}
	deadline time.Time // of the bodies that were arriving when the server began to drain; zero: it does not drain
}

// NewBodies returns Bodies. rejected, if not nil, is called for every body that is rejected because memory is short.
func NewBodies(rejected func()) *Bodies {
	if rejected == nil {
		rejected = func() {}
	}
	return &Bodies{
		patience: transport.MessageTimeout, drainPatience: transport.DrainTimeout, discardPatience: transport.DiscardPatience,
		rejected: rejected, arriving: map[*pacedBody]struct{}{},
	}
}

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

// restPatience is how long the rest of a body is read and discarded when the answer is complete.
func (b *Bodies) restPatience() time.Duration {
	if b.draining() {
		return b.drainPatience / 2
	}
	return b.discardPatience
}

func (b *Bodies) draining() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.deadline.IsZero()
}

// bodyMemory charges a body to the lease of its request, which ends with the request.
type bodyMemory struct {
	of  *Bodies
	ctx context.Context //nolint:containedctx // that of the request
}

// take charges n bytes more. It waits a short time if memory is short. The error is a status.
func (m bodyMemory) take(n int64) error {
	if err := call.Of(m.ctx).Lease.Grow(m.ctx, call.Request, n); err != nil {
		return m.of.noMemory(err)
	}
	return nil
}

// give returns n bytes.
func (m bodyMemory) give(n int64) { call.Of(m.ctx).Lease.Shrink(call.Request, n) }

// noMemory returns the status of an error of a lease.
func (b *Bodies) noMemory(err error) error {
	if errors.Is(err, call.ErrNoMemory) {
		b.rejected()
	}
	return api.MemoryError(err)
}

// pacedBody reads a body that has to arrive in time: the deadline moves only by what has arrived.
type pacedBody struct {
	body    io.Reader
	control *http.ResponseController
	of      *Bodies
	began   time.Time
	next    time.Time // the deadline of what has not been read
	set     bool
	read    int64
	lease   *call.Lease
	awaited int64       // bytes read when the lease began to wait; negative: it does not wait
	revoked atomic.Bool // others take its memory
}

// newPaced returns a body whose time begins now. Its reader calls done at the end.
func (b *Bodies) newPaced(r *http.Request, control *http.ResponseController) *pacedBody {
	now := time.Now()
	return &pacedBody{
		body: r.Body, control: control, of: b, began: now, next: now.Add(b.patience), lease: call.Of(r.Context()).Lease, awaited: -1,
	}
}

// Read implements io.Reader.
func (p *pacedBody) Read(to []byte) (n int, err error) {
	if !p.set {
		p.setDeadline()
		p.set = true
	}
	if p.awaited < 0 || p.read-p.awaited >= transport.MinProgress {
		p.awaited = p.read
		p.lease.AwaitPeer(p.revoke)
	}
	n, err = p.body.Read(to)
	if errors.Is(err, os.ErrDeadlineExceeded) && p.revoked.Load() {
		err = p.of.noMemory(call.ErrNoMemory)
	}
	if paces := (p.read+int64(n))/transport.BytesPerSecond - p.read/transport.BytesPerSecond; paces > 0 {
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
	if p.revoked.Load() {
		deadline = time.Now()
	}
	_ = p.control.SetReadDeadline(deadline) // not every writer has deadlines
}

// revoke makes reading fail, because others need the memory.
func (p *pacedBody) revoke() {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	if _, arriving := p.of.arriving[p]; arriving {
		p.revoked.Store(true)
		_ = p.control.SetReadDeadline(time.Now())
	}
}

// done removes the deadline after the last read: it would end the call and not the reading.
func (p *pacedBody) done() {
	p.lease.AwaitPeer(nil)
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
