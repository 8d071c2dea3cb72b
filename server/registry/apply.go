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
// CRDs by name. The entries put have their versions. A CRD whose version is known already does not change.
func (s *snapshot) apply(commit Commit) (*snapshot, []change, error) {
	next := *s
	next.sequence = commit.Sequence
	d := draft{next: &next, touched: map[string]*catalog{}, revisions: map[string]*revision{}}
	var crds []func() error // changes of CRDs, which follow those of catalogs and revisions
	for _, e := range commit.Put {
		key, err := parseKey(e.Key)
		switch {
		case err != nil:
		case key.kind == catalogPrefix:
			err = d.putCatalog(key, e)
		case key.kind == revisionPrefix:
			err = d.putRevision(key, e)
		default:
			crds = append(crds, func() error { return d.putCRD(key, e) })
		}
		if err != nil {
			return nil, nil, err
		}
	}
	for _, deleted := range commit.Delete {
		switch key, err := parseKey(deleted); {
		case err != nil:
			return nil, nil, err
		case key.kind == catalogPrefix:
			d.removeCatalog(key.catalog)
		case key.kind == crdPrefix: // revisions are dropped with the record that lists them
			crds = append(crds, func() error { d.removeCRD(key.catalog, key.name); return nil })
		}
	}
	for _, change := range crds {
		if err := change(); err != nil {
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
		d.removeCatalog(key.catalog)
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
	if old != nil {
		d.unindex(c, old)
		if !old.record.Created.Equal(next.record.Created) { // it was deleted and created again
			d.changes = append(d.changes, change{catalog: c.name, before: old})
			old = nil
		}
	}
	c.crds = c.crds.Set(next.name, next)
	group := next.desired().Group
	c.groups = c.groups.Set(group, c.group(group).add(next))
	c.counts.add(next, 1)
	d.next.counts.add(next, 1)
	d.changes = append(d.changes, change{catalog: c.name, before: old, after: next})
	return nil
}

func (d *draft) removeCatalog(name string) {
	c, ok := d.next.catalogs.Get(name)
	if !ok {
		return
	}
	for _, old := range c.crds.All() {
		d.next.counts.add(old, -1)
		d.deleted = append(d.deleted, change{catalog: name, before: old})
	}
	d.deleted = append(d.deleted, change{catalog: name, deleted: true})
	d.next.catalogs = d.next.catalogs.Delete(name)
}

func (d *draft) removeCRD(catalog, name string) {
	c, err := d.touch(catalog)
	if err != nil {
		return // the catalog was deleted, too
	}
	if old, ok := c.crds.Get(name); ok {
		d.unindex(c, old)
		d.changes = append(d.changes, change{catalog: catalog, before: old})
	}
}

// unindex removes a CRD from its catalog and its group.
func (d *draft) unindex(c *catalog, old *crd) {
	c.crds = c.crds.Delete(old.name)
	name := old.desired().Group
	if g := c.group(name).remove(old); g.empty() {
		c.groups = c.groups.Delete(name)
	} else {
		c.groups = c.groups.Set(name, g)
	}
	c.counts.add(old, -1)
	d.next.counts.add(old, -1)
}
