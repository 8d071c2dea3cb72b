package api

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/crdeval/crdeval/server/call"
)

// TestStreamSlots checks that the stream that was idle for longest loses its slot, and only if it was idle long enough.
func TestStreamSlots(t *testing.T) {
	caller := "a"
	o := Options{
		Limits: Limits{MaxStreams: 3, MaxStreamsPerCaller: 3, MaxMessageBytes: 1}, MaxStreamIdle: time.Minute,
	}
	s := newStreamSlots(&o)
	s.start = time.Now().Add(-time.Hour)
	var slots []*streamSlot
	for range 3 {
		slot, err := s.take(call.With(t.Context(), &call.Call{Caller: caller}))
		if err != nil {
			t.Fatal(err)
		}
		slot.begun.Store(true)
		slots = append(slots, slot)
	}
	if _, err := s.take(call.With(t.Context(), &call.Call{Caller: caller})); err == nil {
		t.Error("a stream with progress lost its slot")
	}
	slots[0].active.Store(int64(58*time.Minute + 2*time.Second))
	slots[1].active.Store(int64(58 * time.Minute))
	caller = "b"
	slot, err := s.take(call.With(t.Context(), &call.Call{Caller: caller}))
	if err != nil {
		t.Fatal(err)
	}
	wantLost(t, slots[1], "max_streams")
	slots[1].release() // as its handler does
	slots[0].touch()
	slot.begun.Store(true)
	if _, err := s.take(call.With(t.Context(), &call.Call{Caller: caller})); err == nil {
		t.Error("a stream with progress lost its slot")
	}
	slot.release()
	silent, err := s.take(call.With(t.Context(), &call.Call{Caller: caller}))
	if err != nil {
		t.Fatal(err)
	}
	caller = "c" // is not kept out by streams without a message
	if _, err := s.take(call.With(t.Context(), &call.Call{Caller: caller})); err != nil {
		t.Error(err)
	}
	wantLost(t, silent, "max_streams")
	if len(s.taken) != 3 {
		t.Errorf("%d slots are taken", len(s.taken))
	}
}

// TestStreamSlotsPerCaller checks that a caller at its limit loses an idle stream of its own only, and leaves slots for others.
func TestStreamSlotsPerCaller(t *testing.T) {
	o := Options{
		Limits: Limits{MaxStreams: 4, MaxStreamsPerCaller: 2, MaxMessageBytes: 1}, MaxStreamIdle: time.Minute,
	}
	s := newStreamSlots(&o)
	s.start = time.Now().Add(-time.Hour)
	take := func(name string) (*streamSlot, error) {
		return s.take(call.With(t.Context(), &call.Call{Caller: name}))
	}
	first, err := take("a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := take("a"); err != nil {
		t.Fatal(err)
	}
	other, err := take("b")
	if err != nil {
		t.Fatal(err)
	}
	other.active.Store(0)
	if _, err := take("a"); err == nil {
		t.Error("a third stream of a caller that may have two")
	}
	first.active.Store(1)
	if _, err := take("a"); err != nil {
		t.Errorf("the caller has an idle stream: %v", err)
	}
	wantLost(t, first, "max_streams_per_caller")
	if len(other.lost) > 0 {
		t.Error("the stream of another caller lost its slot")
	}
}

// wantLost checks that a stream has lost its slot because of a limit.
func wantLost(t *testing.T, slot *streamSlot, limit string) {
	t.Helper()
	select {
	case err := <-slot.lost:
		if p := classify(err); p.Metadata["limit"] != limit {
			t.Errorf("lost because of %s, want %s: %v", p.Metadata["limit"], limit, err)
		}
	default:
		t.Error("the stream has its slot")
	}
}

// TestStreamMemory checks that a stream waits while memory is short, and ends if it stays short.
func TestStreamMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		short := atomic.Bool{}
		s := &streamSlots{short: short.Load}
		wait := func() time.Duration {
			start := time.Now()
			if err := s.waitForMemory(t.Context()); err != nil {
				t.Error(err)
			}
			return time.Since(start)
		}
		if waited := wait(); waited != 0 {
			t.Errorf("waited %v", waited)
		}
		short.Store(true)
		time.AfterFunc(time.Second, func() { short.Store(false) })
		if waited := wait(); waited < time.Second || waited > time.Second+memoryPollInterval {
			t.Errorf("waited %v", waited)
		}
		short.Store(true)
		if err := s.waitForMemory(t.Context()); !errors.Is(err, errMemoryShort) {
			t.Errorf("memory stays short: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := s.waitForMemory(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the call ends: %v", err)
		}
	})
}
