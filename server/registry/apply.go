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

// apply returns the snapshot after a commit, and the changes: created catalogs, CRDs by name, deleted catalogs. The
// entries put have their versions.
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
	// Catalogs before groups and CRDs, revisions before the records that list them.
	for _, step := range []struct {
		kind string
		put  func(entryKey, Entry) error
	}{
		{catalogPrefix, d.putCatalog}, {revisionPrefix, d.putRevision}, {crdPrefix, d.putCRD}, {groupPrefix, d.putGroup},
	} {
		for i, key := range put {
			if key.kind == step.kind {
				if err := step.put(key, commit.Put[i]); err != nil {
					return nil, nil, err
				}
			}
		}
	}
	// Revisions are dropped with the record that no longer lists them.
	for _, kind := range []string{catalogPrefix, crdPrefix, groupPrefix} {
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
	return &next, slices.Concat(d.created, d.changes, d.deleted), nil
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
	if _, ok := d.next.catalogs.Get(key.catalog); !ok {
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
	next := &crd{catalog: c.name, name: key.name, version: e.Version}
	if _, err := decodeRecord(e.Value, &next.record); err != nil {
		return fmt.Errorf("CRD %s in catalog %s: %w", key.name, key.catalog, err)
	}
	if len(next.record.Revisions) == 0 || next.record.Status == nil {
		return fmt.Errorf("CRD %s in catalog %s: the record has no revision or no status", key.name, key.catalog)
	}
	old, _ := c.crds.Get(key.name)
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
		c.removeFromGroup(old)
	}
	c.crds = c.crds.Set(next.name, next)
	name := next.desired().Group
	c.groups = c.groups.Set(name, c.group(name).add(next))
	d.changes = append(d.changes, change{catalog: c.name, before: old, after: next})
	return nil
}

func (d *draft) putGroup(key entryKey, e Entry) error {
	c, err := d.touch(key.catalog)
	if err != nil {
		return err
	}
	g := c.group(key.name)
	g.version = e.Version
	c.groups = c.groups.Set(key.name, &g)
	return nil
}

func (d *draft) remove(key entryKey) {
	c, err := d.touch(key.catalog)
	if err != nil {
		return // the catalog was deleted, too
	}
	switch key.kind {
	case catalogPrefix:
		for _, old := range c.crds.All() {
			d.changes = append(d.changes, change{catalog: c.name, before: old})
		}
		d.deleted = append(d.deleted, change{catalog: c.name, deleted: true})
		d.next.catalogs = d.next.catalogs.Delete(c.name)
		delete(d.touched, c.name)
	case crdPrefix:
		if old, ok := c.crds.Get(key.name); ok {
			c.removeFromGroup(old)
			c.crds = c.crds.Delete(old.name)
			d.changes = append(d.changes, change{catalog: c.name, before: old})
		}
	case groupPrefix:
		g := c.group(key.name)
		g.version = 0
		if c.groups = c.groups.Set(key.name, &g); g.crds == 0 {
			c.groups = c.groups.Delete(key.name)
		}
	}
}

// group returns a copy of a group, which is empty if the catalog does not have it.
func (c *catalog) group(name string) group {
	if g, ok := c.groups.Get(name); ok {
		return *g
	}
	return group{}
}

func (c *catalog) removeFromGroup(d *crd) {
	name := d.desired().Group
	if g := c.group(name).remove(d); g.crds == 0 && g.version == 0 {
		c.groups = c.groups.Delete(name)
	} else {
		c.groups = c.groups.Set(name, g)
	}
}

// difference returns the changes between two snapshots, without those that were reverted in between.
func difference(before, after *snapshot) []change {
	var created, changes, deleted []change
	for name, old := range before.catalogs.All() {
		if current, ok := after.catalogs.Get(name); !ok || !current.record.Created.Equal(old.record.Created) {
			deleted = append(append(deleted, old.difference(&catalog{})...), change{catalog: name, deleted: true})
		}
	}
	for name, current := range after.catalogs.All() {
		old, ok := before.catalogs.Get(name)
		if !ok || !current.record.Created.Equal(old.record.Created) {
			old = &catalog{name: name}
			created = append(created, change{catalog: name, created: true})
		}
		changes = append(changes, old.difference(current)...)
	}
	// A catalog that was created again is deleted first.
	return slices.Concat(deleted, created, changes)
}

// difference returns the changes of CRDs: deletions, then the others.
func (c *catalog) difference(after *catalog) (changes []change) {
	for name, old := range c.crds.All() {
		if current, ok := after.crds.Get(name); !ok || !current.record.Created.Equal(old.record.Created) {
			changes = append(changes, change{catalog: c.name, before: old})
		}
	}
	for name, current := range after.crds.All() {
		old, ok := c.crds.Get(name)
		if ok && current.version == old.version {
			continue
		}
		if ok && !current.record.Created.Equal(old.record.Created) {
			old = nil
		}
		changes = append(changes, change{catalog: c.name, before: old, after: current})
	}
	return changes
}
