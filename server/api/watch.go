package api

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/crdeval/crdeval/engine/host"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/call"
	"github.com/crdeval/crdeval/server/registry"
)

// fullWatchSlots is the number of slots of a watch with CRD_VIEW_FULL. It holds manifests for a slow caller.
const fullWatchSlots = 10

// watchSlots limits the watches of each caller and of all callers. If no slot is free, a new watch takes slots from the
// caller with the most. That caller must keep at least as many slots as the new watch's caller then has. So callers
// that want many watches get equal shares, and do not take slots from each other endlessly.
type watchSlots struct {
	max, maxPerCaller int
	maxStall          time.Duration
	draining          <-chan struct{} // nil: never
	start             time.Time

	mu      sync.Mutex
	taken   int
	callers map[string]*watchCaller
}

// watchCaller has the watches of a caller.
type watchCaller struct {
	taken int
	slots map[*watchSlot]struct{}
}

// watchSlot is a watch that takes size slots.
type watchSlot struct {
	of     *watchSlots
	caller string
	size   int
	active atomic.Int64 // the time of the last event that was sent, in nanoseconds since of.start
	end    context.CancelCauseFunc
}

func newWatchSlots(o *Options) *watchSlots {
	return &watchSlots{
		max: o.Limits.MaxWatches, maxPerCaller: o.Limits.MaxWatchesPerCaller, maxStall: o.MaxWatchStall,
		draining: o.Draining, start: time.Now(), callers: map[string]*watchCaller{},
	}
}

// errWatchDraining ends watches when the server shuts down.
var errWatchDraining = shuttingDown("watch again from the last token, or at another replica")

// take takes slots for a watch of the caller. The returned context ends when the watch must end.
func (w *watchSlots) take(ctx context.Context, full bool) (context.Context, *watchSlot, error) {
	select {
	case <-w.draining:
		return nil, nil, errWatchDraining
	default:
	}
	slot := &watchSlot{of: w, caller: call.Of(ctx).Caller, size: 1}
	if full {
		slot.size = min(fullWatchSlots, w.maxPerCaller)
	}
	slot.touch()
	w.mu.Lock()
	defer w.mu.Unlock()
	after := slot.size
	if own := w.callers[slot.caller]; own != nil {
		after += own.taken
	}
	if after > w.maxPerCaller {
		return nil, nil, overloaded("max_watches_per_caller", w.maxPerCaller,
			"the watches of this caller exceed max_watches_per_caller, %d (one with CRD_VIEW_FULL counts as %d): "+
				"end some, or watch at another replica", w.maxPerCaller, fullWatchSlots)
	}
	var removed []*watchSlot
	for w.taken+slot.size > w.max {
		other := w.most().idle()
		if other == nil || w.callers[other.caller].taken-other.size < after {
			for _, other := range removed {
				w.add(other)
			}
			return nil, nil, overloaded("max_watches", w.max,
				"the watches of all callers reach max_watches, %d (one with CRD_VIEW_FULL counts as %d), and no other caller has "+
					"more than this one: end some, or watch at another replica", w.max, fullWatchSlots)
		}
		w.remove(other)
		removed = append(removed, other)
	}
	for _, other := range removed {
		other.end(overloaded("max_watches", w.max, "a caller with fewer watches needs the slot of this watch, which was idle for longest "+
			"(the limit max_watches is %d): watch again from the last token, or at another replica", w.max))
	}
	ctx, slot.end = context.WithCancelCause(ctx)
	w.add(slot)
	return ctx, slot, nil
}

// add adds a slot. The caller holds mu.
func (w *watchSlots) add(slot *watchSlot) {
	own := w.callers[slot.caller]
	if own == nil {
		own = &watchCaller{slots: map[*watchSlot]struct{}{}}
		w.callers[slot.caller] = own
	}
	own.slots[slot] = struct{}{}
	own.taken += slot.size
	w.taken += slot.size
}

// most returns the caller with the most slots, nil without callers.
func (w *watchSlots) most() (most *watchCaller) {
	for _, c := range w.callers {
		if most == nil || c.taken > most.taken {
			most = c
		}
	}
	return most
}

// idle returns the watch that has not sent an event for longest, nil without watches.
func (c *watchCaller) idle() (idle *watchSlot) {
	if c == nil {
		return nil
	}
	for slot := range c.slots {
		if idle == nil || slot.active.Load() < idle.active.Load() {
			idle = slot
		}
	}
	return idle
}

// remove removes a slot, unless it was removed before. The caller holds mu.
func (w *watchSlots) remove(slot *watchSlot) {
	own := w.callers[slot.caller]
	if own == nil {
		return
	}
	if _, ok := own.slots[slot]; !ok {
		return
	}
	delete(own.slots, slot)
	own.taken -= slot.size
	w.taken -= slot.size
	if len(own.slots) == 0 {
		delete(w.callers, slot.caller)
	}
}

// release gives the slots back and ends the context of the watch.
func (slot *watchSlot) release() {
	slot.of.mu.Lock()
	defer slot.of.mu.Unlock()
	slot.of.remove(slot)
	slot.end(nil)
}

// touch notes that the watch sent an event.
func (slot *watchSlot) touch() { slot.active.Store(int64(time.Since(slot.of.start))) }

// send calls f, which sends an event. It ends the watch if that takes too long because the caller does not read.
func (slot *watchSlot) send(f func() error) error {
	defer time.AfterFunc(slot.of.maxStall, func() {
		slot.end(&Error{
			Reason: crdevalv1.ErrorReason_ERROR_REASON_WATCH_EXPIRED,
			Message: fmt.Sprintf("the caller did not read an event within %v: watch again, and read events as they arrive",
				slot.of.maxStall),
		})
	}).Stop()
	err := f()
	slot.touch()
	return err
}

// watchEndMargin is how long an ended watch waits for a Send in progress. After that, gRPC ends the Send with the call.
const watchEndMargin = time.Second

// WatchCrds sends the CRDs of a catalog and then each change.
func (s *registryService) WatchCrds(
	r *crdevalv1.WatchCrdsRequest, stream grpc.ServerStreamingServer[crdevalv1.WatchCrdsResponse],
) error {
	full, err := isFull(r.GetView(), false)
	if err != nil {
		return err
	}
	ctx, slot, err := s.watches.take(stream.Context(), full)
	if err != nil {
		return err
	}
	defer slot.release()
	ended := make(chan error, 1)
	go func() {
		ended <- s.watchCrds(ctx, r, full, func(m *crdevalv1.WatchCrdsResponse) error {
			return slot.send(func() error { return stream.Send(m) }) // blocks while the caller does not read
		})
	}()
	select {
	case err = <-ended:
	case <-s.watches.draining:
		slot.end(errWatchDraining)
	case <-ctx.Done():
	}
	if cause := context.Cause(ctx); cause != nil {
		select {
		case <-ended:
		case <-time.After(watchEndMargin):
		}
		return cause
	}
	return err
}

// watchCrds calls send for the CRDs of a catalog and then for each change.
func (s *registryService) watchCrds(
	ctx context.Context, r *crdevalv1.WatchCrdsRequest, full bool, send func(*crdevalv1.WatchCrdsResponse) error,
) (err error) {
	defer host.Recover(&err)
	return s.registry.Watch(ctx, r.GetCatalog(), r.GetFromToken(), func(e registry.Event) (err error) {
		c := e.CRD
		if full && c != nil && e.Type != registry.Deleted {
			if c, err = s.withManifest(ctx, r.GetCatalog(), c); err != nil {
				return err
			}
		}
		eventType := crdevalv1.WatchEventType_value["WATCH_EVENT_TYPE_"+string(e.Type)]
		return send(&crdevalv1.WatchCrdsResponse{
			Type: crdevalv1.WatchEventType(eventType), Token: e.Token, Crd: crd(c, full),
		})
	})
}

// withManifest returns the CRD of an event with its manifest, conversion rules and status. A CRD that has changed again may lack them: a
// later event has them.
func (s *registryService) withManifest(ctx context.Context, catalog string, c *registry.CRD) (*registry.CRD, error) {
	found, err := s.registry.CRD(ctx, catalog, c.Name, c.Revision, "")
	var e *registry.Error
	switch {
	case errors.As(err, &e) && (e.Reason == registry.CRDNotFound || e.Reason == registry.RevisionNotFound || e.Reason == registry.CatalogNotFound):
		return c, nil
	case err != nil:
		return nil, err
	case found.Etag == c.Etag:
		return found, nil
	}
	full := *c
	full.Manifest, full.Conversion = found.Manifest, found.Conversion // those of a revision never change
	return &full, nil
}
