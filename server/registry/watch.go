package registry

import (
	"context"
	"slices"
	"sort"
)

// EventType is the type of an Event.
type EventType string

// The types of events.
const (
	Added    EventType = "ADDED"
	Modified EventType = "MODIFIED"
	Deleted  EventType = "DELETED"
	Synced   EventType = "SYNCED" // the initial state is complete
)

// Event is a change in a catalog.
type Event struct {
	Type EventType
	CRD  *CRD // after the change, or before its deletion; without the manifest; nil for Synced
	// Token resumes the watch after this event. It is "" before Synced in a watch without a token. Within a commit of
	// several events it resumes before the commit, except for the last event.
	Token string
}

// Watch calls send for the changes in a catalog, in order, until ctx ends or send fails, and returns the reason.
// Without a token it sends all CRDs as Added, then Synced, then changes. With a token it sends the changes since, then
// Synced, then further changes. If the history no longer has the changes, the error is WATCH_EXPIRED: watch without a
// token. When the catalog is deleted, Watch sends the deletion of its CRDs and returns CATALOG_NOT_FOUND.
//
// A slow send does not delay other watchers.
func (r *Registry) Watch(ctx context.Context, catalog, from string, send func(Event) error) error {
	s, c, err := r.catalogAt(ctx, catalog, from)
	if err != nil {
		return err
	}
	log := r.history.log(catalog)
	if log == nil {
		return catalogNotFound(catalog) // it was deleted just now
	}
	since := s.sequence
	if from != "" {
		since, _ = r.tag.parse(from) // catalogAt has parsed it
	}
	next, err := log.position(since)
	if err != nil {
		return err
	}
	w := watch{registry: r, log: log, next: next, send: send}
	if from == "" {
		for _, d := range c.crds.All() {
			if err := w.sendEvent(ctx, Event{Type: Added, CRD: d.describe(d.current())}); err != nil {
				return err
			}
		}
	}
	return w.run(ctx, catalog, s.sequence)
}

// watch is a running Watch.
type watch struct {
	registry *Registry
	log      *eventLog
	next     uint64 // the number of the next event
	send     func(Event) error
}

// run sends the events in the log, then Synced with the token of the state reached, then new events.
func (w *watch) run(ctx context.Context, catalog string, sequence uint64) error {
	synced := false
	for {
		added := w.log.added.next()
		events, err := w.log.since(w.next)
		if err != nil {
			return err
		}
		for _, e := range events {
			if e.kind == "" {
				return catalogNotFound(catalog)
			}
			out := Event{Type: e.kind, CRD: e.crd.describe(e.crd.current()), Token: w.registry.tag.token(e.resume)}
			if err := w.sendEvent(ctx, out); err != nil {
				return err
			}
			w.next++
			sequence = max(sequence, e.sequence)
		}
		if len(events) > 0 {
			continue
		}
		if !synced {
			synced = true
			if err := w.sendEvent(ctx, Event{Type: Synced, Token: w.registry.tag.token(sequence)}); err != nil {
				return err
			}
		}
		select {
		case <-added:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-w.registry.lifetime.Done():
			return errorf(Overloaded, nil, "this server is shutting down: resume the watch at another one, from the last token")
		}
	}
}

func (w *watch) sendEvent(ctx context.Context, e Event) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return w.send(e)
}

func expired() error {
	return errorf(WatchExpired, nil, "the events since are no longer kept (at most %d per catalog): watch without a token",
		maxEvents)
}

// position returns the number of the first event after a sequence.
func (l *eventLog) position(sequence uint64) (uint64, error) {
	l.history.mu.Lock()
	defer l.history.mu.Unlock()
	if sequence < l.floor {
		return 0, expired()
	}
	i := sort.Search(len(l.events), func(i int) bool { return l.events[i].sequence > sequence })
	return l.first + uint64(i), nil
}

// since returns some events from a number on.
func (l *eventLog) since(next uint64) ([]event, error) {
	const most = 64
	l.history.mu.Lock()
	defer l.history.mu.Unlock()
	if next < l.first {
		return nil, expired()
	}
	rest := l.events[min(int(next-l.first), len(l.events)):]
	return slices.Clone(rest[:min(most, len(rest))]), nil
}
