package call

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Kind is what the bytes of a lease are used for.
type Kind int

// The kinds of bytes.
const (
	Request  Kind = iota // requests: received bytes, and decoded messages
	Tree                 // document trees
	Response             // results, and encoded responses until they are written
	kinds
)

// String returns the kind as an attribute of metrics.
func (k Kind) String() string { return [...]string{"request", "tree", "response"}[k] }

const (
	// share is how much a caller may hold, as a multiple of the free bytes that are not reserved. So a single caller
	// can hold two thirds of these bytes, ten callers two twenty-firsts each, and a caller that holds nothing always
	// finds free bytes.
	share = 2
	// One part in reservedPart of the memory is reserved for callers that hold at most one part in smallPart of it.
	reservedPart = 4
	smallPart    = 512
	// stallTime is how long a lease must wait for its peer before it can be revoked.
	stallTime = time.Second
	// revokeInterval is how often a lease is revoked while others wait.
	revokeInterval = 100 * time.Millisecond
	// maxMemoryWait bounds the wait for bytes.
	maxMemoryWait = 500 * time.Millisecond
)

// ErrNoMemory is returned if a lease cannot grow now, because other calls hold the memory.
var ErrNoMemory = errors.New("no memory for the call")

// ErrTooLarge is returned if a lease would exceed Memory.MaxPerCaller.
var ErrTooLarge = errors.New("the call needs more memory than a caller may hold")

// Memory is a ledger of the bytes that calls hold for requests, document trees and responses. A single caller cannot
// take all bytes. Memory is safe for concurrent use. A nil Memory has no bound.
type Memory struct {
	total int64

	mu      sync.Mutex
	used    int64
	byKind  [kinds]int64
	callers map[string]*holder
	holding int       // callers that hold bytes
	waiting []*waiter // the first came first
	stalled map[*Lease]struct{}
	ticking bool
	claimed int64 // smallest equal share of callers that TryGrow failed for since the last tick; 0: none
	stats   MemoryStats
}

// MemoryStats are the size of a ledger, its use, and how often it has rejected a growth.
type MemoryStats struct {
	Total, Rejected int64
	Bytes           [kinds]int64
}

// holder counts what a caller holds.
type holder struct {
	bytes  int64
	leases int
}

// waiter is a lease that waits for bytes.
type waiter struct {
	lease   *Lease
	kind    Kind
	bytes   int64
	granted chan struct{}
}

// NewMemory returns a ledger of total bytes.
func NewMemory(total int64) *Memory {
	return &Memory{total: total, callers: map[string]*holder{}, stalled: map[*Lease]struct{}{}}
}

// Stats returns the numbers of the ledger.
func (m *Memory) Stats() MemoryStats {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.stats
	s.Total, s.Bytes = m.total, m.byKind
	return s
}

// MaxPerCaller returns the most bytes that a caller can hold if no other holds any.
func (m *Memory) MaxPerCaller() int64 { return (m.total - m.total/reservedPart) * share / (share + 1) }

// A Lease holds bytes for one call. A nil Lease holds nothing and has no bound. It is safe for concurrent use.
type Lease struct {
	of     *Memory
	caller string
	holder *holder

	// guarded by of.mu
	bytes  [kinds]int64
	total  int64     // of all kinds
	since  time.Time // since when it waits for its peer; zero: it does not
	revoke func()
	closed bool
}

// Open returns an empty lease for a call of a caller. The call must end it with Release.
func (m *Memory) Open(caller string) *Lease {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return &Lease{of: m, caller: caller, holder: m.enter(caller)}
}

// Sibling opens an empty lease of the same caller, for work that may outlive the call. The work must end it with Release.
func (l *Lease) Sibling() *Lease {
	if l == nil {
		return nil
	}
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	return &Lease{of: l.of, caller: l.caller, holder: l.of.enter(l.caller)}
}

// enter returns the holder of a caller that gets one more lease.
func (m *Memory) enter(caller string) *holder {
	h := m.callers[caller]
	if h == nil {
		h = &holder{}
		m.callers[caller] = h
	}
	h.leases++
	return h
}

// leave is the reverse of enter.
func (m *Memory) leave(l *Lease) {
	if l.holder.leases--; l.holder.leases == 0 {
		delete(m.callers, l.caller)
	}
}

// hold adds n bytes to those of a holder. A negative n removes bytes.
func (m *Memory) hold(h *holder, n int64) {
	before := h.bytes
	h.bytes += n
	switch {
	case before == 0 && h.bytes > 0:
		m.holding++
	case before > 0 && h.bytes == 0:
		m.holding--
	}
}

// TryGrow is like Grow, but does not wait. Use it for work that holds a seat of a flow.Scheduler.
func (l *Lease) TryGrow(k Kind, n int64) error { return l.grow(nil, k, n) } //nolint:staticcheck // nil: does not wait

// Grow adds n bytes to the lease, or removes bytes if n is negative. If the bytes are not available, it waits for at
// most maxMemoryWait. It returns ErrNoMemory, ErrTooLarge, or the cause of ctx.
func (l *Lease) Grow(ctx context.Context, k Kind, n int64) error { return l.grow(ctx, k, n) }

// grow does not wait if ctx is nil.
func (l *Lease) grow(ctx context.Context, k Kind, n int64) error {
	if l == nil || n == 0 {
		return nil
	}
	if n < 0 {
		l.Shrink(k, -n)
		return nil
	}
	m := l.of
	m.mu.Lock()
	if l.total+n > m.MaxPerCaller() {
		m.stats.Rejected++
		m.mu.Unlock()
		return ErrTooLarge
	}
	if (len(m.waiting) == 0 || ctx == nil) && m.fits(l, n) { // those that wait can wait because of their own share
		m.add(l, k, n)
		m.mu.Unlock()
		return nil
	}
	if ctx == nil {
		m.claim(l.holder, n)
		m.stats.Rejected++
		m.tick()
		m.mu.Unlock()
		return ErrNoMemory
	}
	w := &waiter{lease: l, kind: k, bytes: n, granted: make(chan struct{})}
	m.waiting = append(m.waiting, w)
	m.grant() // others may have to wait, and this one not
	m.tick()
	m.mu.Unlock()
	late := time.NewTimer(maxMemoryWait)
	defer late.Stop()
	var err error
	select {
	case <-w.granted:
		return nil
	case <-late.C:
		err = ErrNoMemory
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.Index(m.waiting, w)
	if i < 0 {
		return nil // granted meanwhile
	}
	m.waiting = slices.Delete(m.waiting, i, i+1)
	m.stats.Rejected++
	return err
}

// fits reports whether n more bytes fit for a lease.
func (m *Memory) fits(l *Lease, n int64) bool {
	after := l.holder.bytes + n
	free := m.total - m.used
	if after <= m.total/smallPart {
		return n <= free
	}
	free -= m.total / reservedPart
	return n <= free && after <= share*(free-n)
}

func (m *Memory) add(l *Lease, k Kind, n int64) {
	if l.closed { // the call has ended meanwhile
		return
	}
	m.hold(l.holder, n)
	l.bytes[k] += n
	l.total += n
	m.byKind[k] += n
	m.used += n
}

// grant grants the bytes of all that fit, the first one first.
func (m *Memory) grant() {
	m.waiting = slices.DeleteFunc(m.waiting, func(w *waiter) bool {
		if !m.fits(w.lease, w.bytes) {
			return false
		}
		m.add(w.lease, w.kind, w.bytes)
		close(w.granted)
		return true
	})
}

// tick revokes stalled leases while others wait.
func (m *Memory) tick() {
	if m.ticking || len(m.waiting) == 0 && m.claimed == 0 {
		return
	}
	m.ticking = true
	time.AfterFunc(revokeInterval, func() {
		m.mu.Lock()
		m.ticking = false
		revoke := m.revocable()
		m.tick()
		m.mu.Unlock()
		if revoke != nil {
			revoke()
		}
	})
}

// equalShare returns how much a caller can hold if all that hold bytes hold the same. While others hold at most that, it
// fits.
func (m *Memory) equalShare(h *holder) int64 {
	callers := m.holding
	if h.bytes == 0 {
		callers++
	}
	return (m.total - m.total/reservedPart) * share / int64(share*callers+1)
}

// claim notes that a caller waits for n bytes or has not got them. If it would hold at most an equal share, a lease of a
// caller that holds more may be revoked.
func (m *Memory) claim(h *holder, n int64) {
	if equal := m.equalShare(h); h.bytes+n <= equal {
		m.claimed = min(cmp.Or(m.claimed, equal), equal)
	}
}

// revocable returns the function that revokes a stalled lease; nil if none may be revoked. Among the callers that hold
// more than the claimed share, it selects the one that holds the most, and its lease that has waited for longest.
func (m *Memory) revocable() func() {
	for _, w := range m.waiting {
		m.claim(w.lease.holder, w.bytes)
	}
	claimed := m.claimed
	if m.claimed = 0; claimed == 0 {
		return nil
	}
	var found *Lease
	for l := range m.stalled {
		switch {
		case l.holder.bytes <= claimed, l.total == 0, time.Since(l.since) < stallTime:
		case found == nil, l.holder.bytes > found.holder.bytes, l.holder == found.holder && l.since.Before(found.since):
			found = l
		}
	}
	if found == nil {
		return nil
	}
	delete(m.stalled, found)
	return found.revoke
}

// Shrink removes bytes from the lease.
func (l *Lease) Shrink(k Kind, n int64) {
	if l == nil || n <= 0 {
		return
	}
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	l.shrink(k, n)
}

func (l *Lease) shrink(k Kind, n int64) {
	n = min(n, l.bytes[k])
	m := l.of
	m.hold(l.holder, -n)
	l.bytes[k] -= n
	l.total -= n
	m.byKind[k] -= n
	m.used -= n
	m.grant()
}

// Keep reduces the lease to at most n bytes of one kind.
func (l *Lease) Keep(k Kind, n int64) {
	if l == nil {
		return
	}
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	for other, bytes := range l.bytes {
		if Kind(other) == k {
			bytes -= n
		}
		if bytes > 0 {
			l.shrink(Kind(other), bytes)
		}
	}
}

// AwaitPeer records that the call waits for its client from now on, to send or to receive. Each further call of
// AwaitPeer records progress. After stallTime without progress, the lease is stalled. Then revoke is called once if
// others need memory and the caller holds more than an equal share. A nil revoke ends the waiting.
func (l *Lease) AwaitPeer(revoke func()) {
	if l == nil {
		return
	}
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	if revoke == nil || l.closed {
		delete(l.of.stalled, l)
		return
	}
	l.since, l.revoke = time.Now(), revoke
	l.of.stalled[l] = struct{}{}
}

// Release removes all bytes and closes the lease. Later growth has no effect.
func (l *Lease) Release() {
	if l == nil {
		return
	}
	m := l.of
	m.mu.Lock()
	defer m.mu.Unlock()
	if l.closed {
		return
	}
	for k := range l.bytes {
		l.shrink(Kind(k), l.bytes[k])
	}
	l.closed = true
	delete(m.stalled, l)
	m.leave(l)
}
