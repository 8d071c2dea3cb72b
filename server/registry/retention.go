package registry

import (
	"context"
	"time"
)

// A CRD keeps its last KeptRevisions revisions and all that were current within the last KeptFor, at most MaxRevisions.
// Each write applies this (proposal.go), and so does Sweep. snapshot.go and docs/registry.md state the numbers.
const (
	KeptRevisions = 10
	KeptFor       = 24 * time.Hour
	MaxRevisions  = 1000
)

// maxDropped bounds the revisions that one commit drops.
const maxDropped = 16

// retain splits the revisions of a CRD, oldest first, into those to keep and those that the next commit drops.
func retain(refs []revisionRef, now time.Time) (kept, dropped []revisionRef) {
	// A revision was current until Since of the next one.
	n := 0
	for n < min(len(refs)-KeptRevisions, maxDropped) &&
		(len(refs)-n > MaxRevisions || now.Sub(refs[n+1].Since) > KeptFor) {
		n++
	}
	return refs[n:], refs[:n]
}

// Sweep drops old revisions, and continues to reconcile groups. It does not change etags or generations.
func (r *Registry) Sweep(ctx context.Context) (dropped int, err error) {
	r.pins.update(nil, r.Now())
	for _, c := range r.snapshot.Load().catalogs.All() {
		for name, d := range c.crds.All() {
			for _, old := retain(d.record.Revisions, r.Now()); len(old) > 0; dropped += len(old) {
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

// dropOld drops revisions of a CRD that a commit may drop, and returns them.
func (r *Registry) dropOld(ctx context.Context, catalog, name string) (old []revisionRef, err error) {
	_, err = r.write(ctx, func(s *snapshot) (p proposal, err error) {
		old = nil
		c, ok := s.catalogs.Get(catalog)
		if !ok {
			return p, nil
		}
		d, ok := c.crds.Get(name)
		if !ok {
			return p, nil
		}
		record := d.record
		if record.Revisions, old = retain(record.Revisions, r.Now()); len(old) == 0 {
			return p, nil
		}
		p.expect(crdKey(catalog, name), d.version)
		p.dropRevisions(catalog, name, old)
		return p, p.put(crdKey(catalog, name), record, nil)
	})
	return old, err
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
