package api

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestStillest: of the streams without a free place the one makes room that has been still for longest, and none that has moved.
func TestStillest(t *testing.T) {
	s := newStreams(Options{Limits: Limits{MaxStreams: 3, MaxMessageBytes: 1}, StillTime: time.Minute})
	s.began = time.Now().Add(-time.Hour)
	var places []*streamPlace
	for range 3 {
		p, err := s.enter()
		if err != nil {
			t.Fatal(err)
		}
		places = append(places, p)
	}
	if _, err := s.enter(); err == nil {
		t.Error("a place of a stream that has just moved")
	}
	places[0].moved.Store(int64(58*time.Minute + 2*time.Second))
	places[1].moved.Store(int64(58 * time.Minute))
	p, err := s.enter()
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-places[1].lost:
	default:
		t.Error("the stillest has its place still")
	}
	places[1].leave() // as its handler does, when it hears of it
	places[0].move()
	if _, err := s.enter(); err == nil {
		t.Error("a place of a stream that has moved again")
	}
	p.leave()
	if _, err := s.enter(); err != nil {
		t.Error(err)
	}
	if len(s.taken) != 3 {
		t.Errorf("%d places are taken", len(s.taken))
	}
}

// TestWindowOfAll: what all streams hold keeps each from taking a second message, and none from its first.
func TestWindowOfAll(t *testing.T) {
	short := false
	m := newStreamsMemory(100, func() bool { return short })
	m.patience = 50 * time.Millisecond
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
	a.enter(1, 399)
	if waits(a) || waits(b) {
		t.Error("a message has to wait that has room")
	}
	b.enter(1, 1)
	if !waits(a) || !waits(b) || waits(newWindow(&m)) {
		t.Error("room for the first message of each, and for no second")
	}
	b.leave(1, 1)
	short = true
	if !waits(a) || !waits(b) {
		t.Error("memory is short, and a message is taken")
	}
	if err := b.wait(t.Context()); !errors.Is(err, errShort) {
		t.Errorf("memory is short, and nothing makes it less so: %v", err)
	}
	time.AfterFunc(10*time.Millisecond, func() { a.leave(1, 300) })
	short = false
	if err := a.wait(t.Context()); err != nil {
		t.Error(err)
	}
	a.close()
	b.close()
	if held := m.held.Load(); held != 0 {
		t.Errorf("%d bytes are held by nobody", held)
	}
}
