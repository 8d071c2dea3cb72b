package registry

import (
	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/server/registry/immutable"
)

// DefaultCatalog is the catalog that exists always.
const DefaultCatalog = "default"

// initialEtag is the etag of the default catalog as long as no store has it.
const initialEtag = "initial"

// snapshot is everything that is registered, at one moment. It is never written to after it was made: a commit makes another one, which
// shares all that did not change.
type snapshot struct {
	sequence uint64
	catalogs immutable.Map[string, *catalog]
	sorted   immutable.Sorted[string, *catalog] // the same ones
	counts   Counts
}

type catalog struct {
	name    string
	version uint64 // of its entry; 0 for a default catalog that no store has
	record  catalogRecord
	crds    immutable.Map[string, *crd]
	sorted  immutable.Sorted[string, *crd] // the same ones
	kinds   immutable.Map[groupKind, *crd] // the established CRD that has the kind
	groups  immutable.Map[string, *group]  // those with CRDs, or with an entry
}

type groupKind struct{ group, kind string }

// crd is one CRD. The revisions are those that the record lists, in its order.
type crd struct {
	catalog, name string
	version       uint64 // of its entry
	record        crdRecord
	revisions     []*revision
}

func (c *crd) current() *revision { return c.revisions[len(c.revisions)-1] }

// revision returns one that is kept, nil if it is not.
func (c *crd) revision(digest string) *revision {
	for _, rev := range c.revisions {
		if rev.digest == digest {
			return rev
		}
	}
	return nil
}

func (c *crd) standing() *engine.DesiredStatus { return &c.current().summary.Standing }

// emptySnapshot has the default catalog and nothing else.
func emptySnapshot() *snapshot {
	s := &snapshot{}
	s.setCatalog(&catalog{name: DefaultCatalog, record: catalogRecord{Etag: initialEtag}})
	s.counts.Catalogs = 1
	return s
}

func (s *snapshot) setCatalog(c *catalog) {
	s.catalogs, s.sorted = s.catalogs.Set(c.name, c), s.sorted.Set(c.name, c)
}

func (s *snapshot) removeCatalog(name string) {
	s.catalogs, s.sorted = s.catalogs.Delete(name), s.sorted.Delete(name)
}

// Counts says how much is registered.
type Counts struct {
	Catalogs, CRDs, Revisions int
	ManifestBytes             int64 // of all revisions, as they are kept
}

// count adds a CRD, or takes it away.
func (n *Counts) count(d *crd, sign int) {
	if d == nil {
		return
	}
	n.CRDs += sign
	n.Revisions += sign * len(d.revisions)
	for _, rev := range d.revisions {
		n.ManifestBytes += int64(sign) * int64(len(rev.manifest))
	}
}

// Counts counts, for metrics.
func (r *Registry) Counts() Counts { return r.snapshot.Load().counts }
