package registry

import (
	"fmt"
	"maps"
	"slices"
)

// DefaultCatalog is the catalog that exists always.
const DefaultCatalog = "default"

// initialEtag is the etag of the default catalog as long as no store has it.
const initialEtag = "initial"

// snapshot is everything that is registered, at one moment. It is never written to after it was published: a write makes another one,
// which shares all that did not change.
type snapshot struct {
	sequence uint64
	catalogs map[string]*catalog
	names    []string // of the catalogs, sorted
}

type catalog struct {
	name    string
	version uint64 // of its entry; 0 for a default catalog that no store has
	record  catalogRecord
	crds    map[string]*crd
	names   []string              // of the CRDs, sorted
	kinds   map[groupKind]*crd    // the one whose names are accepted, if there is one
	refused map[*crd]nameConflict // those whose names are not accepted
}

type groupKind struct{ group, kind string }

type crd struct {
	catalog, name string
	version       uint64 // of its entry
	record        crdRecord
	revisions     map[string]*revision // those that record lists
}

func (c *crd) current() *revision {
	return c.revisions[c.record.Revisions[len(c.record.Revisions)-1].Digest]
}

// emptySnapshot has the default catalog and nothing else.
func emptySnapshot() *snapshot {
	c := &catalog{name: DefaultCatalog, record: catalogRecord{Etag: initialEtag}}
	c.index()
	return &snapshot{catalogs: map[string]*catalog{DefaultCatalog: c}, names: []string{DefaultCatalog}}
}

// load makes a snapshot of a store's whole contents.
func load(state State) (*snapshot, error) {
	return emptySnapshot().apply(state.Entries, nil, state.Sequence)
}

// apply returns the snapshot after a commit. The entries put carry their versions.
func (s *snapshot) apply(put []Entry, deleted []string, sequence uint64) (*snapshot, error) {
	next := &snapshot{sequence: sequence, catalogs: maps.Clone(s.catalogs), names: s.names}
	d := draft{next: next, old: s, touched: map[string]*catalog{}, fresh: map[string]*revision{}}
	// Catalogs before CRDs, revisions before the records that list them: the order of keys is not that of meaning.
	for _, step := range []func(Entry) error{d.putCatalog, d.putRevision, d.putCRD} {
		for _, e := range put {
			if err := step(e); err != nil {
				return nil, err
			}
		}
	}
	for _, key := range deleted {
		if err := d.remove(key); err != nil {
			return nil, err
		}
	}
	for _, c := range d.touched {
		c.index()
	}
	if len(next.catalogs) != len(s.catalogs) || d.renamed {
		next.names = slices.Sorted(maps.Keys(next.catalogs))
	}
	return next, nil
}

// draft is a snapshot under construction.
type draft struct {
	next, old *snapshot
	touched   map[string]*catalog  // those that are copies already
	fresh     map[string]*revision // by key, put in this commit
	renamed   bool                 // the set of catalogs changed
}

// touch returns a copy of a catalog to write to.
func (d *draft) touch(name string) (*catalog, error) {
	if c, ok := d.touched[name]; ok {
		return c, nil
	}
	old, ok := d.next.catalogs[name]
	if !ok {
		return nil, fmt.Errorf("the store has CRDs of a catalog %q that it does not have", name)
	}
	c := &catalog{name: name, version: old.version, record: old.record, crds: maps.Clone(old.crds)}
	d.touched[name], d.next.catalogs[name] = c, c
	return c, nil
}

func (d *draft) putCatalog(e Entry) error {
	kind, name, _, _, err := splitKey(e.Key)
	if err != nil || kind != catalogPrefix {
		return err
	}
	var record catalogRecord
	if _, err := decodeRecord(e.Value, &record); err != nil {
		return fmt.Errorf("catalog %s: %w", name, err)
	}
	if _, ok := d.next.catalogs[name]; !ok {
		d.renamed = true
		c := &catalog{name: name, crds: map[string]*crd{}}
		d.touched[name], d.next.catalogs[name] = c, c
	}
	c, err := d.touch(name)
	if err != nil {
		return err
	}
	c.record, c.version = record, e.Version
	return nil
}

func (d *draft) putRevision(e Entry) error {
	kind, catalog, name, digest, err := splitKey(e.Key)
	if err != nil || kind != revisionPrefix {
		return err
	}
	r := &revision{digest: digest}
	if r.manifest, err = decodeRecord(e.Value, &r.summary); err != nil {
		return fmt.Errorf("revision %s of CRD %s in catalog %s: %w", digest, name, catalog, err)
	}
	d.fresh[e.Key] = r
	return nil
}

func (d *draft) putCRD(e Entry) error {
	kind, catalog, name, _, err := splitKey(e.Key)
	if err != nil || kind != crdPrefix {
		return err
	}
	c, err := d.touch(catalog)
	if err != nil {
		return err
	}
	next := &crd{catalog: catalog, name: name, version: e.Version, revisions: map[string]*revision{}}
	if _, err := decodeRecord(e.Value, &next.record); err != nil {
		return fmt.Errorf("CRD %s in catalog %s: %w", name, catalog, err)
	}
	if len(next.record.Revisions) == 0 {
		return fmt.Errorf("CRD %s in catalog %s: the record lists no revision", name, catalog)
	}
	old := c.crds[name]
	for _, ref := range next.record.Revisions {
		r := d.fresh[revisionKey(catalog, name, ref.Digest)]
		if r == nil && old != nil {
			r = old.revisions[ref.Digest]
		}
		if r == nil {
			return fmt.Errorf("CRD %s in catalog %s: the store lacks its revision %s", name, catalog, ref.Digest)
		}
		next.revisions[ref.Digest] = r
	}
	if c.crds == nil {
		c.crds = map[string]*crd{}
	}
	c.crds[name] = next
	return nil
}

func (d *draft) remove(key string) error {
	kind, catalog, name, _, err := splitKey(key)
	if err != nil {
		return err
	}
	switch kind {
	case catalogPrefix:
		d.renamed = true
		delete(d.next.catalogs, catalog)
		delete(d.touched, catalog)
	case crdPrefix:
		if _, ok := d.next.catalogs[catalog]; !ok {
			return nil // it went with its catalog
		}
		c, err := d.touch(catalog)
		if err != nil {
			return err
		}
		delete(c.crds, name)
	}
	return nil // a revision goes with the record that no longer lists it
}
