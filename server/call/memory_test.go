package call

import (
	"context"
	"crypto/rand"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestMemoryIsShared: a caller cannot take all bytes, and a small caller always finds some.
func TestMemoryIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const total = 1 << 20
		m := NewMemory(total)
		greedy := m.Open("greedy")
		if err := greedy.Grow(t.Context(), Request, m.MaxPerCaller()+1); !errors.Is(err, ErrTooLarge) {
			t.Errorf("more than a caller may hold: %v", err)
		}
		held := int64(0)
		for range 10 {
			one := m.Open("greedy")
			for one.Grow(t.Context(), Tree, total/64) == nil {
				held += total / 64
			}
		}
		if held > m.MaxPerCaller() || held < m.MaxPerCaller()/2 {
			t.Errorf("one caller holds %d of %d", held, total)
		}
		for _, name := range []string{"b", "c"} {
			l := m.Open(name)
			for l.Grow(t.Context(), Response, total/64) == nil {
			}
			if l.total == 0 {
				t.Errorf("%s finds no bytes", name)
			}
		}
		if small := m.Open("small"); small.Grow(t.Context(), Request, total/smallPart) != nil {
			t.Error("the reserved part is not available")
		}
		if s := m.Stats(); s.Total != total || s.Rejected == 0 || s.Bytes[Request] != total/smallPart || s.Bytes[Tree] != held {
			t.Errorf("%+v", s)
		}
	})
}

// TestMemoryIsReleased: bytes return to the ledger, and those that wait get them in order.
func TestMemoryIsReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory(1 << 20)
		first := m.Open("a")
		if err := first.Grow(t.Context(), Request, 500<<10); err != nil {
			t.Fatal(err)
		}
		second := m.Open("b")
		got := make(chan error)
		go func() { got <- second.Grow(t.Context(), Request, 400<<10) }()
		synctest.Wait()
		if err := second.TryGrow(Tree, 400<<10); !errors.Is(err, ErrNoMemory) {
			t.Errorf("more than there is: %v", err)
		}
		small := m.Open("small")
		if err := small.TryGrow(Tree, 1<<10); err != nil {
			t.Errorf("what fits while others wait: %v", err)
		}
		small.Release()
		first.Release()
		first.Release()
		if err := <-got; err != nil {
			t.Error(err)
		}
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		if err := m.Open("c").Grow(cancelled, Request, 500<<10); !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled call: %v", err)
		}
		if err := second.Grow(t.Context(), Tree, 100<<10); err != nil {
			t.Error(err)
		}
		second.Keep(Request, 50<<10)
		if s := m.Stats(); s.Bytes != [kinds]int64{50 << 10, 0, 0} {
			t.Errorf("%+v", s)
		}
		second.Release()
		if s := m.Stats(); m.used != 0 || s.Bytes != [kinds]int64{} {
			t.Errorf("%+v", s)
		}
		if err := second.Grow(t.Context(), Tree, 1); err != nil || m.used != 0 {
			t.Errorf("a released lease holds %d bytes: %v", m.used, err)
		}
	})
}

// TestRevokedLeases: if a caller needs its share, the largest caller loses the lease that has waited for its peer for
// longest. Callers that hold at most an equal share lose nothing.
func TestRevokedLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory(1 << 20) // of which 768 KiB are not reserved; an equal share of four callers is 171 KiB
		revoked := ""
		stall := func(caller, lease string, kib int64) *Lease {
			l := m.Open(caller)
			if err := l.Grow(t.Context(), Response, kib<<10); err != nil {
				t.Fatal(lease, err)
			}
			l.AwaitPeer(func() {
				revoked += lease + " "
				l.Release()
			})
			return l
		}
		stall("small", "small", 100)
		stall("large", "large", 175)
		stall("largest", "first", 100)
		time.Sleep(time.Millisecond)
		stall("largest", "second", 100)
		progress := stall("largest", "progress", 50)
		time.Sleep(stallTime)
		progress.AwaitPeer(func() { t.Error("a lease with progress was revoked") })
		other := m.Open("other")
		if err := other.Grow(t.Context(), Request, 170<<10); err != nil || revoked != "first " {
			t.Errorf("%v, revoked: %s", err, revoked)
		}
		if err := other.TryGrow(Tree, 300<<10); !errors.Is(err, ErrNoMemory) {
			t.Error(err)
		}
		time.Sleep(10 * revokeInterval)
		if revoked != "first " {
			t.Errorf("leases were revoked for a caller above its share: %s", revoked)
		}
	})
}

// TestSharesOfMemory: if no caller holds more than an equal share, a further caller gets one without a revocation.
func TestSharesOfMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory(1 << 20)
		for _, name := range []string{"a", "b", "c"} {
			l := m.Open(name)
			if err := l.Grow(t.Context(), Response, 170<<10); err != nil {
				t.Fatal(name, err)
			}
			l.AwaitPeer(func() { t.Error("revoked: ", name) })
		}
		time.Sleep(stallTime)
		if err := m.Open("d").Grow(t.Context(), Request, 170<<10); err != nil {
			t.Error(err)
		}
		if err := m.Open("e").Grow(t.Context(), Request, 150<<10); !errors.Is(err, ErrNoMemory) {
			t.Error(err)
		}
	})
}

// TestMemoryBesideWaitingCaller: a caller that waits because of its own share does not keep others from free bytes.
func TestMemoryBesideWaitingCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory(1 << 20)
		for range 100 { // callers without bytes do not reduce the equal share
			m.Open(rand.Text())
		}
		greedy := m.Open("greedy")
		if err := greedy.Grow(t.Context(), Tree, m.MaxPerCaller()); err != nil {
			t.Fatal(err)
		}
		revoked := false
		greedy.AwaitPeer(func() {
			revoked = true
			greedy.Release()
		})
		go func() { _ = m.Open("greedy").Grow(t.Context(), Tree, 64<<10) }()
		synctest.Wait()
		other := m.Open("other")
		if err := other.TryGrow(Tree, 64<<10); err != nil {
			t.Error(err)
		}
		time.Sleep(stallTime)
		if err := other.Grow(t.Context(), Tree, 240<<10); err != nil || !revoked {
			t.Errorf("%v, revoked: %v", err, revoked)
		}
		synctest.Wait()
		other.Release()
		if m.holding != 0 || m.used != 0 {
			t.Errorf("%d callers hold %d bytes", m.holding, m.used)
		}
	})
}

func TestWithoutMemory(t *testing.T) {
	var m *Memory
	l := m.Open("a")
	if err := l.Grow(t.Context(), Request, 1<<40); err != nil || Of(With(t.Context(), &Call{Lease: l})).Lease != nil {
		t.Error(err)
	}
	l.AwaitPeer(func() {})
	l.Keep(Request, 0)
	l.Release()
}
