package gateway

import (
	"net/http"
	"sync"
	"time"
)

// drainPatience is how long a body that is under way has to come once the server drains, and how long what is left of a refused one is thrown away then.
const drainPatience = 2 * time.Second

// arriving are the bodies that are under way. Each has a deadline of its own, and once the server drains, no more than drainPatience: what a client leaves unfinished must
// not hold up the end. It is safe for concurrent use.
type arriving struct {
	mu     sync.Mutex
	bodies map[*pacedBody]struct{}
	last   time.Time // when those have to have come that were under way when the server began to drain; zero: it does not
}

// Drain has the bodies that are under way come soon, or not at all: the server is about to end.
func (b *Bodies) Drain() {
	a := &b.arriving
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.last.IsZero() {
		return
	}
	a.last = time.Now().Add(b.drainPatience)
	for p := range a.bodies {
		_ = p.deadlines.SetReadDeadline(a.last)
	}
}

// draining says whether the server is about to end.
func (b *Bodies) draining() bool {
	b.arriving.mu.Lock()
	defer b.arriving.mu.Unlock()
	return !b.arriving.last.IsZero()
}

// newPaced returns a body whose time begins now. Who reads it calls done behind it.
func (b *Bodies) newPaced(r *http.Request, deadlines *http.ResponseController) *pacedBody {
	now := time.Now()
	return &pacedBody{body: r.Body, deadlines: deadlines, of: b, began: now, next: now.Add(b.patience)}
}

// expect sets the deadline of what has not been read of a body.
func (b *Bodies) expect(p *pacedBody) {
	a := &b.arriving
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.bodies == nil {
		a.bodies = map[*pacedBody]struct{}{}
	}
	a.bodies[p] = struct{}{}
	deadline := p.next
	if !a.last.IsZero() {
		last := a.last
		if begun := p.began.Add(b.drainPatience); begun.After(last) { // it came while the server drained
			last = begun
		}
		if last.Before(deadline) {
			deadline = last
		}
	}
	_ = p.deadlines.SetReadDeadline(deadline) // not every writer has deadlines
}

// done takes the deadline off again, behind the last reading: it would end the call, not the reading.
func (p *pacedBody) done() {
	a := &p.of.arriving
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, expected := a.bodies[p]; expected {
		delete(a.bodies, p)
		_ = p.deadlines.SetReadDeadline(time.Time{})
	}
}
