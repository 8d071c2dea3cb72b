package api

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestStreamSlots checks that the stream that was idle for longest loses its slot, and only if it was idle long enough.
func TestStreamSlots(t *testing.T) {
	caller := "a"
	o := Options{
		Limits: Limits{MaxStreams: 3, MaxStreamsPerCaller: 3, MaxMessageBytes: 1}, MaxStreamIdle: time.Minute,
		Caller: func(context.Context) string { return caller },
	}
	s := newStreamSlots(&o)
	s.start = time.Now().Add(-time.Hour)
	var slots []*streamSlot
	for range 3 {
		slot, err := s.take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		slots = append(slots, slot)
	}
	if _, err := s.take(t.Context()); err == nil {
		t.Error("a stream with progress lost its slot")
	}
	slots[0].active.Store(int64(58*time.Minute + 2*time.Second))
	slots[1].active.Store(int64(58 * time.Minute))
	caller = "b"
	slot, err := s.take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wantLost(t, slots[1], "max_streams")
	slots[1].release() // as its handler does
	slots[0].touch()
	if _, err := s.take(t.Context()); err == nil {
		t.Error("a stream with progress lost its slot")
	}
	slot.release()
	if _, err := s.take(t.Context()); err != nil {
		t.Error(err)
	}
	if len(s.taken) != 3 {
		t.Errorf("%d slots are taken", len(s.taken))
	}
}

// TestStreamSlotsPerCaller checks that a caller at its limit loses an idle stream of its own only, and leaves slots for others.
func TestStreamSlotsPerCaller(t *testing.T) {
	caller := "a"
	o := Options{
		Limits: Limits{MaxStreams: 4, MaxStreamsPerCaller: 2, MaxMessageBytes: 1}, MaxStreamIdle: time.Minute,
		Caller: func(context.Context) string { return caller },
	}
	s := newStreamSlots(&o)
	s.start = time.Now().Add(-time.Hour)
	take := func(name string) (*streamSlot, error) {
		caller = name
		return s.take(t.Context())
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

// TestStreamMemory checks that what all streams hold delays the second message of each, and not the first.
func TestStreamMemory(t *testing.T) { synctest.Test(t, testStreamMemory) }

func testStreamMemory(t *testing.T) {
	short := false
	m := newStreamMemory(100, func() bool { return short })
	waits := func(w *window) bool {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		err := w.wait(ctx)
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("waiting: %v", err)
		}
		return err != nil
	}
	a, b := newWindow(&m), newWindow(&m)
	a.add(1, 399)
	if waits(a) || waits(b) {
		t.Error("there is memory for a message, and it has to wait")
	}
	b.add(1, 1)
	if !waits(a) || !waits(b) || waits(newWindow(&m)) {
		t.Error("there must be memory for the first message of each stream, and not for a second")
	}
	b.remove(1, 1)
	short = true
	if !waits(a) || !waits(b) {
		t.Error("memory is short, and a message is received")
	}
	if err := b.wait(t.Context()); !errors.Is(err, errMemoryShort) {
		t.Errorf("memory stays short: %v", err)
	}
	time.AfterFunc(10*time.Millisecond, func() { a.remove(1, 300) })
	short = false
	if err := a.wait(t.Context()); err != nil {
		t.Error(err)
	}
	a.close()
	b.close()
	if held := m.held.Load(); held != 0 {
		t.Errorf("%d bytes are still counted", held)
	}
}
