package registry

import (
	"cmp"
	"maps"
	"slices"
	"sync"
)

// Bounds of the kept events, which let watchers be slow and resume: per catalog, and for all catalogs together. They do
// not survive a restart.
const (
	maxEvents        = 16 << 10
	maxEventBytes    = 32 << 20
	maxAllEventBytes = 64 << 20
)

// history has the recent events of all catalogs.
type history struct {
	mu    sync.Mutex
	logs  map[string]*eventLog
	bytes int
}

// eventLog has the recent events of one catalog. Events are numbered from 0.
type eventLog struct {
	history *history // its mu guards the log
	added   broadcast
	events  []event
	first   uint64 // the number of events[0]
	floor   uint64 // the sequence of the last dropped event, or of the beginning of the log
	bytes   int
	ended   bool // the catalog was deleted
}

type event struct {
	sequence uint64
	kind     EventType // "" for the deletion of the catalog
	crd      *CRD      // without its manifest
	resume   uint64    // the sequence to resume at: before its commit, except for the last event of the commit
	bytes    int
}

// open begins the log of a catalog after a sequence. The caller holds mu.
func (h *history) open(catalog string, sequence uint64) {
	h.logs[catalog] = &eventLog{history: h, floor: sequence}
}

// log returns the log of a catalog, or nil.
func (h *history) log(catalog string) *eventLog {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.logs[catalog]
}

// add adds the events of a commit and wakes watchers. It calls publish under the same lock, so that the snapshot and
// the events become visible together.
func (h *history) add(before, sequence uint64, changes []change, publish func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	publish()
	touched := map[*eventLog]bool{}
	for i := range changes {
		c := &changes[i]
		if c.created {
			h.open(c.catalog, sequence)
			continue
		}
		l := h.logs[c.catalog]
		if e, ok := c.event(sequence); ok {
			e.resume = before
			l.add(e)
			touched[l] = true
		}
		if c.deleted { // present watchers read the log to its end
			delete(h.logs, c.catalog)
			h.bytes -= l.bytes
			l.ended = true
		}
	}
	for l := range touched {
		l.events[len(l.events)-1].resume = sequence
		l.added.wake()
	}
	for h.bytes > maxAllEventBytes {
		logs := slices.Collect(maps.Values(h.logs))
		slices.MaxFunc(logs, func(a, b *eventLog) int { return cmp.Compare(a.bytes, b.bytes) }).drop()
	}
}

func (l *eventLog) add(e event) {
	l.events = append(l.events, e)
	l.bytes += e.bytes
	l.history.bytes += e.bytes
	for len(l.events) > maxEvents || l.bytes > maxEventBytes && len(l.events) > 1 {
		l.drop()
	}
}

// drop drops the oldest event.
func (l *eventLog) drop() {
	old := l.events[0]
	l.events[0] = event{}
	l.events = l.events[1:]
	l.first++
	l.floor = old.sequence
	l.bytes -= old.bytes
	if !l.ended {
		l.history.bytes -= old.bytes
	}
}

// event returns the event of a change. ok is false if the etag did not change, as when old revisions are dropped.
func (c *change) event(sequence uint64) (e event, ok bool) {
	e = event{sequence: sequence, kind: Modified}
	d := c.after
	switch {
	case c.deleted:
		e.kind = ""
		return e, true
	case c.after == nil:
		e.kind, d = Deleted, c.before
	case c.before == nil:
		e.kind = Added
	case c.before.record.Etag == c.after.record.Etag:
		return e, false
	}
	e.crd = d.describe(d.current())
	e.bytes = 1<<10 + len(e.crd.Versions)<<8 // an estimate
	return e, true
}
