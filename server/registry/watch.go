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
	CRD  *CRD // after the change, or before its deletion; without the manifest; immutable; nil for Synced
	// Token resumes the watch after this event. It is "" before Synced in a watch without a token. Within a commit of
	// several events it resumes before the commit, except for the last event.
	Token string
}

// Watches returns the number of calls of Watch in progress.
func (r *Registry) Watches() int64 {
	r.watches.mu.Lock()
	defer r.watches.mu.Unlock()
	return int64(r.watches.all)
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
	end, err := r.watches.begin(catalog, r.Quota(catalog).Watches)
	if err != nil {
		return err
	}
	defer end()
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
	deliver := func(e Event) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return send(e)
	}
	if from == "" {
		for _, d := range c.crds.All() {
			if err := deliver(Event{Type: Added, CRD: d.describe(d.current())}); err != nil {
				return err
			}
		}
	}
	sequence, synced := s.sequence, false
	for {
		added := log.added.next()
		events, err := log.since(next)
		if err != nil {
			return err
		}
		for _, e := range events {
			if e.kind == "" {
				return catalogNotFound(catalog)
			}
			if err := deliver(Event{Type: e.kind, CRD: e.crd, Token: r.tag.token(e.resume)}); err != nil {
				return err
			}
			next++
			sequence = max(sequence, e.sequence)
		}
		if len(events) > 0 {
			continue
		}
		if !synced {
			synced = true
			if err := deliver(Event{Type: Synced, Token: r.tag.token(sequence)}); err != nil {
				return err
			}
		}
		select {
		case <-added:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-r.lifetime.Done():
			return errorf(Overloaded, nil, "this server is shutting down: resume the watch at another one, from the last token")
		}
	}
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
