package registry

import (
	"context"
	"time"
)

// A CRD's last KeptRevisions revisions stay, and all that were current within the last KeptFor, so that callers who pinned one have time to
// move; of a CRD that changes more than MaxRevisions times within KeptFor, the last MaxRevisions. The current revision always stays.
const (
	KeptRevisions = 10
	KeptFor       = 24 * time.Hour
	MaxRevisions  = 1000
)

// mostDropped is how many revisions one commit drops at most.
const mostDropped = 16

// retain splits a CRD's revisions, oldest first, into those that stay and those that go with the next commit.
func retain(refs []revisionRef, now time.Time) (kept, dropped []revisionRef) {
	// A revision was current until the next one came. These times ascend, so those that go are the first ones.
	n := 0
	for n < min(len(refs)-KeptRevisions, mostDropped) && (len(refs)-n > MaxRevisions || now.Sub(refs[n+1].Since) > KeptFor) {
		n++
	}
	return refs[n:], refs[:n]
}

// Sweep drops the revisions that retention no longer covers, which registering does for its own CRD alone, and settles what was left to settle. It
// changes neither etags nor generations of CRDs whose status stays. Call it now and then.
func (r *Registry) Sweep(ctx context.Context) (dropped int, err error) {
	r.lists.sweep()
	for _, c := range r.snapshot.Load().sorted.All() {
		for name, d := range c.sorted.All() {
			n, err := r.sweep(ctx, c.name, name, d)
			if dropped += n; err != nil {
				return dropped, err
			}
		}
		for name, g := range c.groups.All() {
			if g.waiting.Len() > 0 {
				r.settleFurther(ctx, c.name, name)
			}
		}
	}
	return dropped, ctx.Err()
}

// sweep drops the old revisions of one CRD.
func (r *Registry) sweep(ctx context.Context, catalog, name string, d *crd) (dropped int, err error) {
	if _, old := retain(d.record.Revisions, r.now()); len(old) == 0 {
		return 0, nil
	}
	for {
		n := 0
		_, err := r.write(ctx, func(s *snapshot) (p plan, err error) {
			p, n, err = r.sweeping(s, catalog, name)
			return p, err
		})
		if err != nil || n == 0 {
			return dropped, err
		}
		dropped += n
	}
}

func (r *Registry) sweeping(s *snapshot, catalog, name string) (p plan, dropped int, err error) {
	c, ok := s.catalogs.Get(catalog)
	if !ok {
		return p, 0, nil // deleted meanwhile
	}
	d, ok := c.crds.Get(name)
	if !ok {
		return p, 0, nil
	}
	record := d.record
	kept, old := retain(record.Revisions, r.now())
	if len(old) == 0 {
		return p, 0, nil
	}
	record.Revisions = kept
	p.expect(crdKey(catalog, name), d.version)
	err = p.put(crdKey(catalog, name), record.current(), nil)
	for _, ref := range old {
		p.Delete = append(p.Delete, revisionKey(catalog, name, ref.Digest))
	}
	return p, len(old), err
}

// RunSweeps sweeps every interval until ctx ends.
func (r *Registry) RunSweeps(ctx context.Context, interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		switch dropped, err := r.Sweep(ctx); {
		case ctx.Err() != nil:
			return
		case err != nil:
			r.log.WarnContext(ctx, "old revisions could not be dropped; the next sweep tries again", "error", err)
		case dropped > 0:
			r.log.InfoContext(ctx, "dropped old revisions", "revisions", dropped)
		}
	}
}
