package registry

import (
	"fmt"
	"slices"
	"strings"
)

// change is the effect of a commit on one CRD, or on a catalog itself.
type change struct {
	catalog          string
	before, after    *crd // nil if the CRD did not or does not exist; both are nil for a catalog
	created, deleted bool // the catalog
}

func (c *change) name() string {
	if c.after != nil {
		return c.after.name
	}
	return c.before.name
}

// apply returns the snapshot after a commit, and the changes: deleted catalogs after their CRDs, created catalogs, then
// CRDs by name. The entries put have their versions. Entries whose version is known already change nothing.
func (s *snapshot) apply(commit Commit) (*snapshot, []change, error) {
	next := *s
	next.sequence = commit.Sequence
	d := draft{
		next: &next, touched: map[string]*catalog{}, revisions: map[string]*revision{}, crds: map[string]*crd{},
	}
	var err error
	put, deleted := make([]entryKey, len(commit.Put)), make([]entryKey, len(commit.Delete))
	for i := range commit.Put {
		if put[i], err = parseKey(commit.Put[i].Key); err != nil {
			return nil, nil, err
		}
	}
	for i := range commit.Delete {
		if deleted[i], err = parseKey(commit.Delete[i]); err != nil {
			return nil, nil, err
		}
	}
	// Catalogs before CRDs, revisions before the records that list them.
	for _, step := range []struct {
		kind string
		put  func(entryKey, Entry) error
	}{{catalogPrefix, d.putCatalog}, {revisionPrefix, d.putRevision}, {crdPrefix, d.putCRD}} {
		for i, key := range put {
			if key.kind == step.kind {
				if err := step.put(key, commit.Put[i]); err != nil {
					return nil, nil, err
				}
			}
		}
	}
	// Revisions are dropped with the record that no longer lists them. Removals come first: they may free names.
	for _, kind := range []string{catalogPrefix, crdPrefix} {
		for _, key := range deleted {
			if key.kind == kind {
				d.remove(key)
			}
		}
	}
	for _, c := range d.crds {
		if err := d.index(c); err != nil {
			return nil, nil, err
		}
	}
	for _, c := range d.touched {
		next.catalogs = next.catalogs.Set(c.name, c)
	}
	slices.SortStableFunc(d.changes, func(a, b change) int { return strings.Compare(a.name(), b.name()) })
	return &next, slices.Concat(d.deleted, d.created, d.changes), nil
}

// draft is a snapshot under construction.
type draft struct {
	next      *snapshot
	touched   map[string]*catalog  // copies that may be modified, by name
	revisions map[string]*revision // put by this commit, by key
	crds      map[string]*crd      // put by this commit and not indexed yet, by key

	created, changes, deleted []change
}

// touch returns a copy of a catalog that may be modified.
func (d *draft) touch(name string) (*catalog, error) {
	if c, ok := d.touched[name]; ok {
		return c, nil
	}
	old, ok := d.next.catalogs.Get(name)
	if !ok {
		return nil, fmt.Errorf("the store has CRDs of catalog %q, but not the catalog", name)
	}
	c := *old
	d.touched[name] = &c
	return &c, nil
}

func (d *draft) putCatalog(key entryKey, e Entry) error {
	var record catalogRecord
	if _, err := decodeRecord(e.Value, &record); err != nil {
		return fmt.Errorf("catalog %s: %w", key.catalog, err)
	}
	old, ok := d.next.catalogs.Get(key.catalog)
	if ok && !old.record.Created.Equal(record.Created) { // it was deleted and created again
		d.remove(key)
		ok = false
	}
	if !ok {
		d.touched[key.catalog] = &catalog{name: key.catalog}
		d.created = append(d.created, change{catalog: key.catalog, created: true})
	}
	c, err := d.touch(key.catalog)
	if err != nil {
		return err
	}
	c.record, c.version = record, e.Version
	return nil
}

func (d *draft) putRevision(key entryKey, e Entry) error {
	rev, err := decodeRevision(key.digest, e.Value)
	if err != nil {
		return fmt.Errorf("revision %s of CRD %s in catalog %s: %w", key.digest, key.name, key.catalog, err)
	}
	d.revisions[e.Key] = rev
	return nil
}

func (d *draft) putCRD(key entryKey, e Entry) error {
	c, err := d.touch(key.catalog)
	if err != nil {
		return err
	}
	old, _ := c.crds.Get(key.name)
	if old != nil && old.version == e.Version {
		return nil
	}
	next := &crd{catalog: c.name, name: key.name, version: e.Version}
	if _, err := decodeRecord(e.Value, &next.record); err != nil {
		return fmt.Errorf("CRD %s in catalog %s: %w", key.name, key.catalog, err)
	}
	if len(next.record.Revisions) == 0 || next.record.Status == nil {
		return fmt.Errorf("CRD %s in catalog %s: the record has no revision or no status", key.name, key.catalog)
	}
	for _, ref := range next.record.Revisions {
		rev := d.revisions[revisionKey(key.catalog, key.name, ref.Digest)]
		if rev == nil && old != nil {
			rev = old.revision(ref.Digest)
		}
		if rev == nil {
			return fmt.Errorf("CRD %s in catalog %s: the store lacks its revision %s", key.name, key.catalog, ref.Digest)
		}
		next.revisions = append(next.revisions, rev)
	}
	d.crds[e.Key] = next
	return nil
}

// index adds a CRD that was put to its catalog.
func (d *draft) index(next *crd) error {
	c, err := d.touch(next.catalog)
	if err != nil {
		return err
	}
	old, _ := c.crds.Get(next.name)
	if old != nil {
		d.removeCRD(c, old)
		if !old.record.Created.Equal(next.record.Created) { // it was deleted and created again
			d.changes = append(d.changes, change{catalog: c.name, before: old})
			old = nil
		}
	}
	c.crds = c.crds.Set(next.name, next)
	name := next.desired().Group
	c.groups = c.groups.Set(name, c.group(name).add(next))
	d.next.counts.add(next, 1)
	d.changes = append(d.changes, change{catalog: c.name, before: old, after: next})
	return nil
}

func (d *draft) remove(key entryKey) {
	c, err := d.touch(key.catalog)
	if err != nil {
		return // the catalog was deleted, too
	}
	if key.kind == crdPrefix {
		if old, ok := c.crds.Get(key.name); ok {
			d.removeCRD(c, old)
			d.changes = append(d.changes, change{catalog: c.name, before: old})
		}
		return
	}
	for _, old := range c.crds.All() {
		d.next.counts.add(old, -1)
		d.deleted = append(d.deleted, change{catalog: c.name, before: old})
	}
	d.deleted = append(d.deleted, change{catalog: c.name, deleted: true})
	d.next.catalogs = d.next.catalogs.Delete(c.name)
	delete(d.touched, c.name)
}

// removeCRD removes a CRD from a catalog and from its group.
func (d *draft) removeCRD(c *catalog, old *crd) {
	c.crds = c.crds.Delete(old.name)
	name := old.desired().Group
	if g := c.group(name).remove(old); g.empty() {
		c.groups = c.groups.Delete(name)
	} else {
		c.groups = c.groups.Set(name, g)
	}
	d.next.counts.add(old, -1)
}
