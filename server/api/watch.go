package api

import (
	"context"
	"errors"
	"sync"

	"google.golang.org/grpc"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/registry"
)

// fullWatchSlots is the number of slots of a watch with CRD_VIEW_FULL. It holds manifests for a slow caller.
const fullWatchSlots = 10

// watchSlots bounds the watches of each caller.
type watchSlots struct {
	max      int
	caller   func(context.Context) string
	draining <-chan struct{} // nil: never

	mu    sync.Mutex
	taken map[string]int // by caller
}

func newWatchSlots(o *Options) *watchSlots {
	return &watchSlots{max: o.Limits.MaxWatchesPerCaller, caller: o.Caller, draining: o.Draining, taken: map[string]int{}}
}

// errWatchDraining ends watches when the server shuts down.
var errWatchDraining = shuttingDown("watch again from the last token, or at another replica")

// take takes slots for a watch of the caller.
func (w *watchSlots) take(ctx context.Context, full bool) (release func(), err error) {
	select {
	case <-w.draining:
		return nil, errWatchDraining
	default:
	}
	caller, slots := w.caller(ctx), 1
	if full {
		slots = min(fullWatchSlots, w.max)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.taken[caller]+slots > w.max {
		return nil, overloaded("max_watches_per_caller", w.max,
			"the watches of this caller exceed max_watches_per_caller, %d (one with CRD_VIEW_FULL counts as %d): "+
				"end some, or watch at another replica", w.max, fullWatchSlots)
	}
	w.taken[caller] += slots
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.taken[caller] -= slots; w.taken[caller] == 0 {
			delete(w.taken, caller)
		}
	}, nil
}

// WatchCrds sends the CRDs of a catalog and then each change.
func (s *registryService) WatchCrds(
	r *crdevalv1.WatchCrdsRequest, stream grpc.ServerStreamingServer[crdevalv1.WatchCrdsResponse],
) error {
	full, err := isFull(r.GetView(), false)
	if err != nil {
		return err
	}
	release, err := s.watches.take(stream.Context(), full)
	if err != nil {
		return err
	}
	defer release()
	ctx, cancel := context.WithCancelCause(stream.Context())
	defer cancel(nil)
	go func() {
		select {
		case <-s.watches.draining:
			cancel(errWatchDraining)
		case <-ctx.Done():
		}
	}()
	err = s.registry.Watch(ctx, r.GetCatalog(), r.GetFromToken(), func(e registry.Event) (err error) { // blocks while the caller does not read
		c := e.CRD
		if full && c != nil && e.Type != registry.Deleted {
			if c, err = s.withManifest(ctx, r.GetCatalog(), c); err != nil {
				return err
			}
		}
		eventType := crdevalv1.WatchEventType_value["WATCH_EVENT_TYPE_"+string(e.Type)]
		return stream.Send(&crdevalv1.WatchCrdsResponse{Type: crdevalv1.WatchEventType(eventType), Token: e.Token, Crd: crd(c, full)})
	})
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
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
