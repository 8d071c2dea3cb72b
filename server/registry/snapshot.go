package registry

import (
	"github.com/crdeval/crdeval/engine/kubeserver"
)

// DefaultCatalog always exists.
const DefaultCatalog = "default"

// initialEtag is the etag of the default catalog before its first write.
const initialEtag = "initial"

// snapshot is all that is registered at one moment. It is immutable; apply makes the next one, which shares all
// unchanged parts.
type snapshot struct {
	sequence uint64
	catalogs immutableMap[string, *catalog] // by name
	counts   Counts                         // but Catalogs
}

type catalog struct {
	name    string
	version uint64 // of its entry; 0 for a default catalog without one
	record  catalogRecord
	counts  Counts                       // but Catalogs
	crds    immutableMap[string, *crd]   // by name
	groups  immutableMap[string, *group] // by name
}

// crd is a CRD with the revisions that its record lists, in the same order.
type crd struct {
	catalog, name string
	version       uint64 // of its entry
	record        crdRecord
	revisions     []*revision
}

// emptySnapshot returns the snapshot of a new store.
func emptySnapshot() *snapshot {
	s := &snapshot{}
	s.catalogs = s.catalogs.Set(DefaultCatalog, &catalog{name: DefaultCatalog, record: catalogRecord{Etag: initialEtag}})
	return s
}

func (s *snapshot) catalog(name string) (*catalog, error) {
	if c, ok := s.catalogs.Get(name); ok {
		return c, nil
	}
	return nil, catalogNotFound(name)
}

func catalogNotFound(name string) *Error {
	return errorf(CatalogNotFound, metadata{"catalog": name}, "there is no catalog %q: create it first, or use %q",
		name, DefaultCatalog)
}

func (c *catalog) crd(name string) (*crd, error) {
	if d, ok := c.crds.Get(name); ok {
		return d, nil
	}
	return nil, errorf(CRDNotFound, metadata{"catalog": c.name, "crd": name},
		"catalog %q has no CRD %q: register it, or list the catalog's CRDs", c.name, name)
}

func (c *crd) current() *revision { return c.revisions[len(c.revisions)-1] }

func (c *crd) desired() *kubeserver.DesiredStatus { return &c.current().summary.Desired }

// revision returns the revision with a digest, or nil.
func (c *crd) revision(digest string) *revision {
	for _, rev := range c.revisions {
		if rev.digest == digest {
			return rev
		}
	}
	return nil
}

// revisionAt returns the revision with a digest, or the current one for "".
func (c *crd) revisionAt(digest string) (*revision, error) {
	if digest == "" {
		return c.current(), nil
	}
	if rev := c.revision(digest); rev != nil {
		return rev, nil
	}
	return nil, errorf(RevisionNotFound, metadata{"catalog": c.catalog, "crd": c.name, "revision": digest},
		"CRD %q of catalog %q has no revision %q: the last %d are kept, and all that were current within the last %v, but "+
			"at most %d and %d MiB of older ones; the current revision is %s",
		c.name, c.catalog, digest, KeptRevisions, KeptFor, MaxRevisions, MaxRevisionBytes>>20, c.current().digest)
}

// crd returns a CRD of a catalog.
func (s *snapshot) crd(catalog, name string) (*crd, error) {
	c, err := s.catalog(catalog)
	if err != nil {
		return nil, err
	}
	return c.crd(name)
}

// Counts says how much is registered.
type Counts struct {
	Catalogs, CRDs, Revisions int
	ManifestBytes             int64 // of all revisions with their conversion rules, compressed
}

// allCounts returns all counts.
func (s *snapshot) allCounts() Counts {
	n := s.counts
	n.Catalogs = s.catalogs.Len()
	return n
}

// add counts a CRD n times.
func (c *Counts) add(d *crd, n int) {
	c.CRDs += n
	c.Revisions += n * len(d.revisions)
	for _, rev := range d.revisions {
		c.ManifestBytes += int64(n * len(rev.content))
	}
}
