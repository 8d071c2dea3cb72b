package registry

import (
	"context"
	"time"
)

// A CRD's last KeptRevisions revisions stay, and all that were current within the last KeptFor, so that callers who pinned one have time to
// move. The current revision always stays.
const (
	KeptRevisions = 10
	KeptFor       = 24 * time.Hour
)

// retain splits a CRD's revisions, oldest first, into those that stay and those that go.
func retain(refs []revisionRef, now time.Time) (kept, dropped []revisionRef) {
	// A revision was current until the next one came. These times ascend, so those that go are the first ones.
	n := 0
	for n < len(refs)-KeptRevisions && now.Sub(refs[n+1].Since) > KeptFor {
		n++
	}
	return refs[n:], refs[:n]
}

// Sweep drops the revisions that retention no longer covers; registering does so for its own CRD alone. It changes neither etags nor
// generations. Call it now and then.
func (r *Registry) Sweep(ctx context.Context) (dropped int, err error) {
	for _, c := range r.snapshot.Load().catalogs {
		for name, d := range c.crds {
			if _, old := retain(d.record.Revisions, r.now()); len(old) == 0 {
				continue
			}
			n := 0
			_, err := r.write(ctx, func(s *snapshot) (t Transaction, err error) {
				t, n, err = r.sweeping(s, c.name, name)
				return t, err
			})
			if err != nil {
				return dropped, err
			}
			dropped += n
		}
	}
	return dropped, nil
}

func (r *Registry) sweeping(s *snapshot, catalog, name string) (Transaction, int, error) {
	c := s.catalogs[catalog]
	if c == nil || c.crds[name] == nil {
		return Transaction{}, 0, nil // deleted meanwhile
	}
	d := c.crds[name]
	record := d.record
	kept, old := retain(record.Revisions, r.now())
	if len(old) == 0 {
		return Transaction{}, 0, nil
	}
	record.Revisions = kept
	value, err := encodeRecord(record, nil)
	t := Transaction{Expect: []Expectation{{Key: crdKey(catalog, name), Version: d.version}}, Put: []Entry{{Key: crdKey(catalog, name), Value: value}}}
	for _, ref := range old {
		t.Delete = append(t.Delete, revisionKey(catalog, name, ref.Digest))
	}
	return t, len(old), err
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
