package registry

import "sync"

// What happened is kept for a while, so that watchers can be slow, and come back: for each catalog up to mostNews happenings of mostNewsBytes, for all
// of them together up to allNewsBytes. A registry that was just started knows nothing older.
const (
	mostNews      = 16 << 10
	mostNewsBytes = 32 << 20
	allNewsBytes  = 64 << 20
)

// chronicle has the news of each catalog.
type chronicle struct {
	mu    sync.Mutex
	rings map[string]*ring
	bytes int
}

// ring is the news of one catalog. Happenings are numbered from 0; the oldest that is kept is first.
type ring struct {
	all   *chronicle // whose lock guards it
	news  broadcast
	kept  []happening
	first uint64
	floor uint64 // the sequence of the last happening that is not kept, or of the moment before the first one
	bytes int
	ended bool // the catalog is gone, and with it the ring's part of all
}

// happening is one change, as watchers are told of it.
type happening struct {
	sequence uint64
	kind     EventType // "" for the end of the catalog
	crd      *crd      // with one revision: that which was current
	resume   uint64    // where to go on behind it: before its commit, if that changed more
	bytes    int
}

// begin opens the news of a catalog, of which everything up to sequence is known otherwise.
func (c *chronicle) begin(catalog string, sequence uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open(catalog, sequence)
}

func (c *chronicle) open(catalog string, sequence uint64) {
	if c.rings == nil {
		c.rings = map[string]*ring{}
	}
	c.rings[catalog] = &ring{all: c, floor: sequence}
}

// ring returns that of a catalog, nil if there is none.
func (c *chronicle) ring(catalog string) *ring {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rings[catalog]
}

// add records what a commit did, behind the sequence before, and wakes those who watch. Its state is served, by serve, in the same moment: who reads the
// one finds the other, in either order.
func (c *chronicle) add(before, sequence uint64, changes []change, serve func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	serve()
	touched := map[*ring]bool{}
	for i := range changes {
		ch := &changes[i]
		if ch.began {
			c.open(ch.catalog, sequence)
			continue
		}
		r, ok := c.rings[ch.catalog]
		if !ok {
			c.open(ch.catalog, before)
			r = c.rings[ch.catalog]
		}
		if h, tell := ch.happening(sequence); tell {
			h.resume = before
			r.add(h)
			touched[r] = true
		}
		if ch.ended {
			// Those who watch it still read to its end; nobody else finds it.
			delete(c.rings, ch.catalog)
			c.bytes -= r.bytes
			r.ended = true
		}
	}
	for r := range touched {
		r.kept[len(r.kept)-1].resume = sequence
		r.news.wake()
	}
	for c.bytes > allNewsBytes {
		c.largest().drop()
	}
}

func (c *chronicle) largest() *ring {
	var most *ring
	for _, r := range c.rings {
		if most == nil || r.bytes > most.bytes {
			most = r
		}
	}
	return most
}

func (r *ring) add(h happening) {
	r.kept = append(r.kept, h)
	r.bytes += h.bytes
	r.all.bytes += h.bytes
	for len(r.kept) > mostNews || r.bytes > mostNewsBytes && len(r.kept) > 1 {
		r.drop()
	}
}

// drop forgets the oldest happening.
func (r *ring) drop() {
	old := r.kept[0]
	r.kept[0] = happening{}
	r.kept = r.kept[1:]
	r.first++
	r.floor = old.sequence
	r.bytes -= old.bytes
	if !r.ended {
		r.all.bytes -= old.bytes
	}
}

// happening is what watchers are told of a change, if it is something to tell: dropping old revisions is not.
func (ch *change) happening(sequence uint64) (h happening, tell bool) {
	h = happening{sequence: sequence, kind: Modified, crd: ch.after}
	switch {
	case ch.ended:
		h.kind = ""
		return h, true
	case ch.after == nil:
		h.kind, h.crd = Deleted, ch.before
	case ch.before == nil:
		h.kind = Added
	case ch.before.record.Etag == ch.after.record.Etag:
		return h, false
	}
	slim := *h.crd
	slim.record.Revisions = nil
	slim.revisions = []*revision{{digest: slim.current().digest, summary: slim.current().summary}}
	h.crd = &slim
	h.bytes = 1<<10 + len(slim.current().summary.Versions)<<8 // roughly
	return h, true
}
