package registry

import (
	"context"
	"math"
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

// unlimited is the space of a CRD without quotas.
var unlimited = space{revisions: MaxRevisions, bytes: math.MaxInt64}

// maxDropped bounds the revisions that one commit drops, because etcd bounds the operations of a transaction (128).
const maxDropped = 64

// retain returns how many of the oldest revisions of a CRD the next commit drops, so that the others fit into a space.
// refs and revisions have the same order, oldest first.
func retain(refs []revisionRef, revisions []*revision, fit space, now time.Time) (drop int) {
	last := len(revisions) - 1
	most, older := min(MaxRevisionBytes, fit.bytes-int64(len(revisions[last].content))), int64(0)
	for _, rev := range revisions[:last] {
		older += int64(len(rev.content))
	}
	// A revision was current until Since of the next one.
	for drop < min(len(refs)-1, maxDropped) &&
		(len(refs)-drop > min(MaxRevisions, fit.revisions) || older > most ||
			len(refs)-drop > KeptRevisions && now.Sub(refs[drop+1].Since) > KeptFor) {
		older -= int64(len(revisions[drop].content))
		drop++
	}
	return drop
}

// Sweep drops old revisions, and continues to reconcile groups. It does not change etags or generations.
func (r *Registry) Sweep(ctx context.Context) (dropped int, err error) {
	r.pins.update(nil, r.Now())
	for _, c := range r.snapshot.Load().catalogs.All() {
		for name, d := range c.crds.All() {
			for old := d.outdated(r.Now()); old > 0; dropped += old {
				old, err = r.dropOld(ctx, c.name, name, func(d *crd) int { return d.outdated(r.Now()) })
				if err != nil {
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

// outdated returns how many revisions of a CRD the next commit may drop.
func (c *crd) outdated(now time.Time) int {
	return retain(c.record.Revisions, c.revisions, unlimited, now)
}

// dropOld drops the oldest revisions of a CRD, as many as outdated returns, and returns their number.
func (r *Registry) dropOld(ctx context.Context, catalog, name string, outdated func(*crd) int) (old int, err error) {
	_, err = r.write(ctx, func(s *snapshot) (p proposal, err error) {
		old = 0
		d, err := s.crd(catalog, name)
		if err != nil {
			return p, nil //nolint:nilerr // it was deleted
		}
		if old = min(outdated(d), maxDropped); old == 0 {
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
