package registry

import (
	"context"
	"time"
)

// A CRD keeps its current revision, and older ones up to MaxRevisions in total and MaxRevisionBytes compressed. Of these,
// it keeps the last KeptRevisions and all that were current within the last KeptFor. Each write applies this
// (proposal.go), and so does Sweep. snapshot.go and docs/registry.md state the numbers.
const (
	KeptRevisions    = 10
	KeptFor          = 24 * time.Hour
	MaxRevisions     = 100
	MaxRevisionBytes = 4 << 20
)

// maxDropped bounds the revisions that one commit drops, because etcd bounds the operations of a transaction (128).
const maxDropped = 64

// retain returns how many of the oldest revisions of a CRD the next commit drops. refs and revisions have the same order,
// oldest first.
func retain(refs []revisionRef, revisions []*revision, now time.Time) (drop int) {
	older := 0
	for _, rev := range revisions[:len(revisions)-1] {
		older += len(rev.content)
	}
	// A revision was current until Since of the next one.
	for drop < min(len(refs)-1, maxDropped) &&
		(len(refs)-drop > MaxRevisions || older > MaxRevisionBytes ||
			len(refs)-drop > KeptRevisions && now.Sub(refs[drop+1].Since) > KeptFor) {
		older -= len(revisions[drop].content)
		drop++
	}
	return drop
}

// Sweep drops old revisions, and continues to reconcile groups. It does not change etags or generations.
func (r *Registry) Sweep(ctx context.Context) (dropped int, err error) {
	r.pins.update(nil, r.Now())
	for _, c := range r.snapshot.Load().catalogs.All() {
		for name, d := range c.crds.All() {
			for old := retain(d.record.Revisions, d.revisions, r.Now()); old > 0; dropped += old {
				if old, err = r.dropOld(ctx, c.name, name); err != nil {
					return dropped, err
				}
			}
		}
		for name, g := range c.groups.All() {
			if g.waiting.Len() > 0 {
				r.reconcileGroup(ctx, c.name, name)
			}
		}
	}
	return dropped, ctx.Err()
}

// dropOld drops revisions of a CRD that a commit may drop, and returns their number.
func (r *Registry) dropOld(ctx context.Context, catalog, name string) (old int, err error) {
	_, err = r.write(ctx, func(s *snapshot) (p proposal, err error) {
		old = 0
		c, ok := s.catalogs.Get(catalog)
		if !ok {
			return p, nil
		}
		d, ok := c.crds.Get(name)
		if !ok {
			return p, nil
		}
		if old = retain(d.record.Revisions, d.revisions, r.Now()); old == 0 {
			return p, nil
		}
		return p, p.dropOldest(d, old)
	})
	return old, err
}

// dropOldest drops the n oldest revisions of a CRD and changes nothing else.
func (p *proposal) dropOldest(d *crd, n int) error {
	record := d.record
	p.dropRevisions(d.catalog, d.name, record.Revisions[:n])
	record.Revisions = record.Revisions[n:]
	p.expect(crdKey(d.catalog, d.name), d.version)
	return p.put(crdKey(d.catalog, d.name), record, nil)
}

// RunSweeps calls Sweep every interval until ctx ends.
func (r *Registry) RunSweeps(ctx context.Context, interval time.Duration) {
	for sleep(ctx, interval) {
		switch dropped, err := r.Sweep(ctx); {
		case ctx.Err() != nil:
			return
		case err != nil:
			r.Log.WarnContext(ctx, "cannot drop old revisions; the next sweep tries again", "error", err)
		case dropped > 0:
			r.Log.InfoContext(ctx, "dropped old revisions", "revisions", dropped)
		}
	}
}
