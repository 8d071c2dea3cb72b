package api

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/crdeval/crdeval/server/call"
)

// watchers opens watches of several callers.
type watchers struct {
	*watchSlots
	t *testing.T
}

func newWatchers(t *testing.T, l Limits) *watchers {
	t.Helper()
	w := &watchers{t: t}
	w.watchSlots = newWatchSlots(&Options{
		Limits: l.withDefaults(), MaxWatchStall: time.Minute,
	})
	return w
}

// open opens a watch and wants the error to name a limit, or no error for "".
func (w *watchers) open(caller string, full bool, limit string) (context.Context, *watchSlot) {
	w.t.Helper()
	ctx, slot, err := w.take(call.With(w.t.Context(), &call.Call{Caller: caller}), full)
	got := ""
	if err != nil {
		got = classify(err).Metadata["limit"]
	}
	if got != limit {
		w.t.Errorf("caller %s: got %v, want %q", caller, err, limit)
	}
	return ctx, slot
}

func TestWatchSlotsOfCallers(t *testing.T) {
	w := newWatchers(t, Limits{MaxWatchesPerCaller: 11})
	_, first := w.open("a", true, "")
	w.open("a", true, "max_watches_per_caller")
	w.open("a", false, "")
	w.open("b", true, "")
	first.release()
	w.open("a", true, "")
	first.release() // again
	w.open("a", false, "max_watches_per_caller")
	if w.taken != 21 {
		t.Errorf("%d slots taken, want 21", w.taken)
	}
}

// TestWatchSlotsAreShared: new callers take the longest idle watches of the caller with the most, until all have the
// same number.
func TestWatchSlotsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatchers(t, Limits{MaxWatches: 8, MaxWatchesPerCaller: 8})
		var ctxs []context.Context
		var slots []*watchSlot
		for range 8 {
			ctx, slot := w.open("greedy", false, "")
			ctxs, slots = append(ctxs, ctx), append(slots, slot)
			time.Sleep(time.Second)
		}
		slots[0].touch()
		w.open("greedy", false, "max_watches_per_caller")
		for range 4 {
			w.open("other", false, "")
		}
		w.open("other", false, "max_watches")
		w.open("greedy", false, "max_watches")
		w.open("third", false, "")
		w.open("third", false, "")
		w.open("third", false, "max_watches")
		for i, ctx := range ctxs {
			lost := i >= 1 && i <= 4 || i == 5 && ctx.Err() != nil // a fifth or one of the other caller
			if (ctx.Err() != nil) != lost {
				t.Errorf("watch %d: %v", i, context.Cause(ctx))
			}
			if p := classify(context.Cause(ctx)); lost && (p == nil || p.reasonName() != "OVERLOADED" || p.Metadata["limit"] != "max_watches") {
				t.Errorf("watch %d: %v", i, context.Cause(ctx))
			}
		}
		if w.taken != 8 || len(w.callers) != 3 {
			t.Errorf("%d slots of %d callers", w.taken, len(w.callers))
		}
	})
}

// TestRejectedWatch: a watch that is rejected ends no other watch.
func TestRejectedWatch(t *testing.T) {
	w := newWatchers(t, Limits{MaxWatches: 21, MaxWatchesPerCaller: 11})
	var ctxs []context.Context
	for range 11 {
		ctx, _ := w.open("most", false, "")
		ctxs = append(ctxs, ctx)
	}
	w.open("other", true, "")
	w.open("new", true, "max_watches") // needs ten slots, and "most" can give one
	for i, ctx := range ctxs {
		if ctx.Err() != nil {
			t.Errorf("watch %d: %v", i, context.Cause(ctx))
		}
	}
	if w.taken != 21 || w.callers["most"].taken != 11 {
		t.Errorf("%d slots taken, %d by the caller with the most", w.taken, w.callers["most"].taken)
	}
}

// TestWatchOfSilentCaller: a caller that does not read an event loses its watch.
func TestWatchOfSilentCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatchers(t, Limits{})
		ctx, slot := w.open("a", true, "")
		if err := slot.send(func() error { time.Sleep(time.Minute - time.Second); return nil }); err != nil || ctx.Err() != nil {
			t.Errorf("a slow caller: %v, %v", err, context.Cause(ctx))
		}
		time.Sleep(time.Hour)
		if ctx.Err() != nil {
			t.Error("a watch without events:", context.Cause(ctx))
		}
		err := slot.send(func() error { <-ctx.Done(); return ctx.Err() })
		if p := classify(context.Cause(ctx)); !errors.Is(err, context.Canceled) || p == nil || p.reasonName() != "WATCH_EXPIRED" {
			t.Errorf("%v, %v", err, context.Cause(ctx))
		}
		slot.release()
	})
}
