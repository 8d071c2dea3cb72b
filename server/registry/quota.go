package registry

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Quota is the maximum that a catalog may use. A field that is 0 is no limit.
type Quota struct {
	CRDs      int   // registered CRDs
	Bytes     int64 // of the stored revisions of all CRDs, compressed
	Revisions int   // stored revisions of all CRDs
	Watches   int   // open watches of all callers, at each replica
}

// Estimates of the memory of registered entries, in addition to the compressed manifests (TestMemoryOfEntries).
const (
	catalogMemory  = 2 << 10
	crdMemory      = 4 << 10
	revisionMemory = 1 << 10
)

// memory estimates the memory of registered entries.
func (c Counts) memory() int64 {
	return int64(c.Catalogs)*catalogMemory + int64(c.CRDs)*crdMemory + int64(c.Revisions)*revisionMemory + c.ManifestBytes
}

// space is how many revisions, and how many bytes of them, a CRD may have.
type space struct {
	revisions int
	bytes     int64
}

// shortage is what must be free before a write fits: revisions and bytes of the catalog, and memory of the registry.
type shortage struct {
	revisions     int
	bytes, memory int64
}

// after returns the shortage that is left after a revision of a size is dropped.
func (s shortage) after(bytes int64) shortage {
	return shortage{s.revisions - 1, s.bytes - bytes, s.memory - bytes - revisionMemory}
}

func (s shortage) ended() bool { return s.revisions <= 0 && s.bytes <= 0 && s.memory <= 0 }

// excess returns the shortage of a write, which is not zero if dropping revisions may help, and an error that names an
// exceeded quota or the capacity of the registry. p.growth is the growth of the catalog. A quantity that the write does
// not increase is not checked.
func (r *Registry) excess(s *snapshot, c *catalog, p *proposal) (over shortage, err error) {
	q, g := r.Quota(c.name), p.growth
	if n := c.counts.CRDs; q.CRDs > 0 && g.CRDs > 0 && n+g.CRDs > q.CRDs {
		return shortage{}, overQuota(c.name, "crds", int64(q.CRDs), int64(n), "CRDs", "delete CRDs")
	}
	if n := c.counts.Revisions; q.Revisions > 0 && g.Revisions > 0 && n+g.Revisions > q.Revisions {
		over.revisions = n + g.Revisions - q.Revisions
		err = overQuota(c.name, "revisions", int64(q.Revisions), int64(n), "revisions of CRDs", "delete CRDs")
	}
	if n := c.counts.ManifestBytes; q.Bytes > 0 && g.ManifestBytes > 0 && n+g.ManifestBytes > q.Bytes {
		over.bytes = n + g.ManifestBytes - q.Bytes
		err = overQuota(c.name, "bytes", q.Bytes, n, "bytes of compressed manifests", "delete CRDs")
	}
	all := s.allCounts()
	if n, grows := all.memory(), g.memory(); r.MaxBytes > 0 && grows > 0 && n+grows > r.MaxBytes {
		over.memory = n + grows - r.MaxBytes
		err = cmp.Or(err, error(overCapacity(n, r.MaxBytes)))
	}
	return over, err
}

// overQuota returns the error of a write beyond a quota.
func overQuota(catalog, quota string, maximum, used int64, unit, action string) *Error {
	return errorf(QuotaExceeded, metadata{
		"catalog": catalog, "quota": quota, "maximum": fmt.Sprint(maximum), "used": fmt.Sprint(used),
	}, "catalog %q has a quota of %d %s (%s) and uses %d: %s, or let an administrator raise the quota",
		catalog, maximum, unit, quota, used, action)
}

func overCapacity(used, maximum int64) *Error {
	return errorf(QuotaExceeded, metadata{
		"quota": "registry_bytes", "maximum": fmt.Sprint(maximum), "used": fmt.Sprint(used),
	}, "the registry has a capacity of about %d MiB of memory and uses %d MiB: delete CRDs or catalogs, or let an "+
		"administrator raise --memory", maximum>>20, used>>20)
}

// space returns the space for the revisions of a CRD that the quotas leave.
func (r *Registry) space(s *snapshot, c *catalog, name string) space {
	own := Counts{}
	if old, ok := c.crds.Get(name); ok {
		own.add(old, 1)
	}
	out, q := unlimited, r.Quota(c.name)
	if q.Revisions > 0 {
		out.revisions = min(out.revisions, q.Revisions-c.counts.Revisions+own.Revisions)
	}
	if q.Bytes > 0 {
		out.bytes = min(out.bytes, q.Bytes-c.counts.ManifestBytes+own.ManifestBytes)
	}
	if all := s.allCounts(); r.MaxBytes > 0 {
		out.bytes = min(out.bytes, r.MaxBytes-all.memory()+own.ManifestBytes)
	}
	return out
}

// reclaim drops the oldest revisions of a catalog that are not current, so that the write of a CRD fits. It reports
// whether it dropped any. If dropping all of them is not enough, it drops none.
func (r *Registry) reclaim(ctx context.Context, catalog, writes string, over shortage) (bool, error) {
	c, err := r.snapshot.Load().catalog(catalog)
	if err != nil {
		return false, err
	}
	type oldRevision struct {
		crd   string
		until time.Time // when it was last current
		bytes int64
	}
	var old []oldRevision
	for _, d := range c.crds.All() {
		for i, rev := range d.revisions[:len(d.revisions)-1] {
			if d.name != writes || i >= maxDropped { // the write itself drops those
				old = append(old, oldRevision{d.name, d.record.Revisions[i+1].Since, int64(len(rev.content))})
			}
		}
	}
	slices.SortStableFunc(old, func(a, b oldRevision) int { return a.until.Compare(b.until) })
	drop := map[string]time.Time{}
	for i := 0; i < len(old) && !over.ended(); i++ {
		over = over.after(old[i].bytes)
		drop[old[i].crd] = old[i].until
	}
	if !over.ended() {
		return false, nil
	}
	reclaimed := 0
	for name, until := range drop {
		n, err := r.dropOld(ctx, catalog, name, func(d *crd) (n int) {
			for n < len(d.revisions)-1 && !d.record.Revisions[n+1].Since.After(until) {
				n++
			}
			return n
		})
		if err != nil {
			return false, err
		}
		reclaimed += n
	}
	return reclaimed > 0, nil
}

// watchCounts counts the open watches by catalog.
type watchCounts struct {
	mu        sync.Mutex
	all       int
	byCatalog map[string]int
}

// begin counts a watch of a catalog until the returned function is called. It returns an error if the quota is reached.
func (w *watchCounts) begin(catalog string, maximum int) (end func(), err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := w.byCatalog[catalog]; maximum > 0 && n >= maximum {
		return nil, overQuota(catalog, "watches", int64(maximum), int64(n), "open watches",
			"end a watch, watch at another replica")
	}
	if w.byCatalog == nil {
		w.byCatalog = map[string]int{}
	}
	w.all++
	w.byCatalog[catalog]++
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.all--
		if w.byCatalog[catalog]--; w.byCatalog[catalog] == 0 {
			delete(w.byCatalog, catalog)
		}
	}, nil
}

// of returns the number of open watches of a catalog.
func (w *watchCounts) of(catalog string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.byCatalog[catalog]
}
