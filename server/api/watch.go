package api

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/registry"
)

// watches bounds the calls of WatchCrds, which last as long as their callers listen, and ends them when the server drains.
type watches struct {
	most     int
	places   *semaphore.Weighted
	draining <-chan struct{} // nil: never
}

func newWatches(most int, draining <-chan struct{}) *watches {
	return &watches{most: most, places: semaphore.NewWeighted(int64(most)), draining: draining}
}

// What a watch takes of the places: one with manifests, of which each may have MiB, holds some of them for a caller who does not read.
const (
	placesOfBasic = 1
	placesOfFull  = 10
)

// errDraining is why a watch ends that nobody else ended.
var errDraining = &problem{
	reason: crdevalv1.ErrorReason_ERROR_REASON_OVERLOADED, message: "the server is shutting down: watch at another replica, or again, from the last token",
	leaving: true,
}

// begin takes places for a watch. The context ends with the call's, and with errDraining as its cause when the server drains; end gives the
// place back.
func (w *watches) begin(ctx context.Context, full bool) (watching context.Context, end func(), err error) {
	select {
	case <-w.draining:
		return nil, nil, errDraining
	default:
	}
	places := int64(placesOfBasic)
	if full {
		places = min(placesOfFull, int64(w.most))
	}
	if !w.places.TryAcquire(places) {
		return nil, nil, &problem{
			reason: crdevalv1.ErrorReason_ERROR_REASON_OVERLOADED,
			message: fmt.Sprintf("there are as many watches as the limit max_watches lets, %d, of which one with CRD_VIEW_FULL takes %d: end others, or watch at another replica",
				w.most, placesOfFull),
			metadata: map[string]string{"limit": "max_watches", "maximum": fmt.Sprint(w.most)},
		}
	}
	watching, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-w.draining:
			cancel(errDraining)
		case <-watching.Done():
		}
	}()
	return watching, func() {
		cancel(nil)
		w.places.Release(places)
	}, nil
}

// WatchCrds tells of every change in a catalog until its caller goes away.
func (s *registryService) WatchCrds(r *crdevalv1.WatchCrdsRequest, stream grpc.ServerStreamingServer[crdevalv1.WatchCrdsResponse]) error {
	ctx := stream.Context()
	if err := needed(field{"catalog", r.GetCatalog()}); err != nil {
		return s.faults.call(ctx, err)
	}
	full, err := wantsManifest(r.GetView(), false)
	if err != nil {
		return s.faults.call(ctx, err)
	}
	watching, end, err := s.watches.begin(ctx, full)
	if err != nil {
		return s.faults.call(ctx, err)
	}
	defer end()
	w := watch{ctx: watching, catalog: r.GetCatalog(), send: stream.Send}
	if full {
		w.registry = s.registry
	}
	err = s.registry.Watch(watching, r.GetCatalog(), r.GetFromToken(), w.tell)
	switch {
	case errors.Is(context.Cause(watching), errDraining):
		err = errDraining
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case w.lost != nil:
		return w.lost // a status of gRPC's own: nobody is there to read it
	}
	return s.faults.call(ctx, err)
}

// watch is a call of WatchCrds under way.
type watch struct {
	ctx      context.Context //nolint:containedctx // of the call that this is
	catalog  string
	registry Registry // for manifests; nil if the caller wants none
	send     func(*crdevalv1.WatchCrdsResponse) error
	lost     error // why nothing can be sent any more
}

var eventTypes = map[registry.EventType]crdevalv1.WatchEventType{
	registry.Added:    crdevalv1.WatchEventType_WATCH_EVENT_TYPE_ADDED,
	registry.Modified: crdevalv1.WatchEventType_WATCH_EVENT_TYPE_MODIFIED,
	registry.Deleted:  crdevalv1.WatchEventType_WATCH_EVENT_TYPE_DELETED,
	registry.Synced:   crdevalv1.WatchEventType_WATCH_EVENT_TYPE_SYNCED,
}

// tell sends one event. It waits while the caller does not read.
func (w *watch) tell(e registry.Event) error {
	m := &crdevalv1.WatchCrdsResponse{Type: eventTypes[e.Type], Token: e.Token}
	if e.CRD != nil {
		c := e.CRD
		if w.registry != nil && e.Type != registry.Deleted {
			var err error
			if c, err = w.withManifest(c); err != nil {
				return err
			}
		}
		m.Crd = crd(c, w.registry != nil)
	}
	w.lost = w.send(m)
	return w.lost
}

// withManifest is a CRD of an event with its manifest and status, as far as it has not changed again: then there is an event to come that has them.
func (w *watch) withManifest(c *registry.CRD) (*registry.CRD, error) {
	found, err := w.registry.CRD(w.ctx, w.catalog, c.Name, c.Revision, "")
	var gone *registry.Error
	switch {
	case errors.As(err, &gone) && (gone.Reason == registry.CRDNotFound || gone.Reason == registry.RevisionNotFound || gone.Reason == registry.CatalogNotFound):
		return c, nil
	case err != nil:
		return nil, err
	case found.Etag == c.Etag:
		return found, nil
	}
	full := *c
	full.Manifest = found.Manifest // of a revision, which never changes
	return &full, nil
}
