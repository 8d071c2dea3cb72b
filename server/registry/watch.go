package registry

import (
	"context"
	"fmt"
	"sort"
)

// EventType says what happened to a CRD.
type EventType string

// The types of events.
const (
	Added    EventType = "ADDED"
	Modified EventType = "MODIFIED"
	Deleted  EventType = "DELETED"
	Synced   EventType = "SYNCED" // everything until now was told; what follows is news
)

// Event is something that happened in a catalog.
type Event struct {
	Type EventType
	CRD  *CRD // as it is since, of a deleted one as it last was; nil for SYNCED. Without the manifest
	// Token is where watching goes on without losing anything: behind this event; "" while all CRDs are told of at first; and before the whole commit, while it
	// changed more CRDs than are told of yet.
	Token string
}

// Watch tells of what happens in a catalog, in order, until ctx ends or tell fails, and returns the reason. From "" it tells of every CRD as
// ADDED, then SYNCED, then news; from a token, of what has changed since, then SYNCED, then news. A token of a state whose successors
// are no longer kept is WATCH_EXPIRED, and so is falling too far behind: watch from "" again. When the catalog is deleted, its CRDs are told of as
// DELETED, and then it is CATALOG_NOT_FOUND.
//
// tell may take its time: it holds up nobody else.
func (r *Registry) Watch(ctx context.Context, catalog, from string, tell func(Event) error) error {
	s, err := r.at(ctx, from)
	if err != nil {
		return err
	}
	c, err := s.catalog(catalog)
	if err != nil {
		return err
	}
	ring := r.news.ring(catalog)
	if ring == nil {
		return noCatalog(catalog) // in this very moment
	}
	w := watch{registry: r, ring: ring, tell: tell}
	if from == "" {
		w.next, err = ring.position(s.sequence)
	} else {
		since, _ := r.tag.parse(from) // at has read it
		w.next, err = ring.position(since)
	}
	if err != nil {
		return err
	}
	if from == "" {
		for _, d := range c.sorted.All() {
			if err := w.say(ctx, Event{Type: Added, CRD: d.describe(d.current())}); err != nil {
				return err
			}
		}
	}
	return w.run(ctx, catalog, s.sequence)
}

// watch is a Watch under way.
type watch struct {
	registry *Registry
	ring     *ring
	next     uint64 // the number of the happening to tell of next
	tell     func(Event) error
}

// newsAtOnce is how many happenings are taken from a ring at once.
const newsAtOnce = 64

// run tells of what is there, then SYNCED with the token of a sequence that includes it all, then of what comes.
func (w *watch) run(ctx context.Context, catalog string, sequence uint64) error {
	synced := false
	for {
		news := w.ring.news.next()
		list, err := w.ring.since(w.next)
		if err != nil {
			return err
		}
		for i := range list {
			h := &list[i]
			if h.kind == "" {
				return noCatalog(catalog)
			}
			if err := w.say(ctx, Event{Type: h.kind, CRD: h.crd.describe(h.crd.current()), Token: w.registry.tag.token(h.resume)}); err != nil {
				return err
			}
			w.next++
			sequence = max(sequence, h.sequence)
		}
		if len(list) > 0 {
			continue
		}
		if !synced {
			synced = true
			if err := w.say(ctx, Event{Type: Synced, Token: w.registry.tag.token(sequence)}); err != nil {
				return err
			}
		}
		select {
		case <-news:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-w.registry.lifetime.Done():
			return &Error{Reason: Overloaded, Message: "this server is stopping: watch on at another one, from the last token"}
		}
	}
}

// say tells of one event, unless the watch has ended.
func (w *watch) say(ctx context.Context, e Event) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return w.tell(e)
}

func expired() error {
	return &Error{Reason: WatchExpired, Message: fmt.Sprintf("what happened since is no longer kept (of a catalog up to %d events): watch from the beginning, without a token", mostNews)}
}

// position returns the number of the first happening behind a sequence.
func (r *ring) position(sequence uint64) (uint64, error) {
	r.all.mu.Lock()
	defer r.all.mu.Unlock()
	if sequence < r.floor {
		return 0, expired()
	}
	i := sort.Search(len(r.kept), func(i int) bool { return r.kept[i].sequence > sequence })
	return r.first + uint64(i), nil
}

// since returns happenings from a number on, not necessarily all.
func (r *ring) since(next uint64) ([]happening, error) {
	r.all.mu.Lock()
	defer r.all.mu.Unlock()
	if next < r.first {
		return nil, expired()
	}
	i := min(int(next-r.first), len(r.kept))
	return append([]happening(nil), r.kept[i:min(i+newsAtOnce, len(r.kept))]...), nil
}
