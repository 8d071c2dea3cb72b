package registry

import (
	"fmt"
	"slices"
	"strings"
)

// change is what a commit did to one CRD, or to a catalog itself.
type change struct {
	catalog       string
	before, after *crd // nil: there was none, there is none; both nil for a catalog that began or ended
	began, ended  bool
}

// load makes a snapshot of a store's whole contents.
func load(state State) (*snapshot, error) {
	s, _, err := emptySnapshot().apply(Commit{Sequence: state.Sequence, Put: state.Entries})
	return s, err
}

// apply returns the snapshot after a commit, and what that changed: catalogs that began, CRDs by name, catalogs that ended. The entries put
// carry their versions.
func (s *snapshot) apply(commit Commit) (*snapshot, []change, error) {
	next := *s
	next.sequence = commit.Sequence
	d := draft{next: &next, touched: map[string]*catalog{}, fresh: map[string]*revision{}, put: map[string]*crd{}}
	put, deleted, err := keysOf(commit)
	if err != nil {
		return nil, nil, err
	}
	// Catalogs before groups and CRDs, revisions before the records that list them: the order of keys is not that of meaning.
	for _, step := range []struct {
		kind string
		put  func(entryKey, Entry) error
	}{{catalogPrefix, d.putCatalog}, {revisionPrefix, d.putRevision}, {crdPrefix, d.putCRD}, {groupPrefix, d.putGroup}} {
		for i, key := range put {
			if key.kind != step.kind {
				continue
			}
			if err := step.put(key, commit.Put[i]); err != nil {
				return nil, nil, err
			}
		}
	}
	if err := d.former(); err != nil {
		return nil, nil, err
	}
	for _, kind := range []string{catalogPrefix, crdPrefix, groupPrefix} { // a revision goes with the record that no longer lists it
		for _, key := range deleted {
			if key.kind != kind {
				continue
			}
			if err := d.remove(key); err != nil {
				return nil, nil, err
			}
		}
	}
	for _, c := range d.put {
		if err := d.index(c); err != nil {
			return nil, nil, err
		}
	}
	for _, c := range d.touched {
		next.setCatalog(c)
	}
	slices.SortStableFunc(d.changes, func(a, b change) int { return strings.Compare(a.name(), b.name()) })
	changes := slices.Concat(d.began, d.changes, d.ended)
	return &next, changes, nil
}

// keysOf takes the keys of a commit apart.
func keysOf(commit Commit) (put, deleted []entryKey, err error) {
	put, deleted = make([]entryKey, len(commit.Put)), make([]entryKey, len(commit.Delete))
	for i := range commit.Put {
		if put[i], err = splitKey(commit.Put[i].Key); err != nil {
			return nil, nil, err
		}
	}
	for i := range commit.Delete {
		if deleted[i], err = splitKey(commit.Delete[i]); err != nil {
			return nil, nil, err
		}
	}
	return put, deleted, nil
}

func (c *change) name() string {
	if c.after != nil {
		return c.after.name
	}
	return c.before.name
}

// draft is a snapshot under construction.
type draft struct {
	next                  *snapshot
	touched               map[string]*catalog  // copies to write to, by name
	fresh                 map[string]*revision // by key, put in this commit
	put                   map[string]*crd      // by key, put in this commit and not indexed yet
	began, changes, ended []change
}

// touch returns a copy of a catalog to write to.
func (d *draft) touch(name string) (*catalog, error) {
	if c, ok := d.touched[name]; ok {
		return c, nil
	}
	old, ok := d.next.catalogs.Get(name)
	if !ok {
		return nil, fmt.Errorf("the store has CRDs of a catalog %q that it does not have", name)
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
		d.next.counts.Catalogs++
		d.began = append(d.began, change{catalog: key.catalog, began: true})
	}
	c, err := d.touch(key.catalog)
	if err != nil {
		return err
	}
	c.record, c.version = record, e.Version
	return nil
}

func (d *draft) putRevision(key entryKey, e Entry) error {
	rev, err := readRevision(key.digest, e.Value)
	if err != nil {
		return fmt.Errorf("revision %s of CRD %s in catalog %s: %w", key.digest, key.crd, key.catalog, err)
	}
	d.fresh[e.Key] = rev
	return nil
}

func (d *draft) putCRD(key entryKey, e Entry) error {
	c, err := d.touch(key.catalog)
	if err != nil {
		return err
	}
	next := &crd{catalog: c.name, name: key.crd, version: e.Version}
	if _, err := decodeRecord(e.Value, &next.record); err != nil {
		return fmt.Errorf("CRD %s in catalog %s: %w", key.crd, key.catalog, err)
	}
	if len(next.record.Revisions) == 0 {
		return fmt.Errorf("CRD %s in catalog %s: the record lists no revision", key.crd, key.catalog)
	}
	old, _ := c.crds.Get(key.crd)
	for _, ref := range next.record.Revisions {
		rev := d.fresh[revisionKey(key.catalog, key.crd, ref.Digest)]
		if rev == nil && old != nil {
			rev = old.revision(ref.Digest)
		}
		if rev == nil {
			return fmt.Errorf("CRD %s in catalog %s: the store lacks its revision %s", key.crd, key.catalog, ref.Digest)
		}
		next.revisions = append(next.revisions, rev)
	}
	d.put[e.Key] = next
	return nil
}

// index gives a CRD that was put its place.
func (d *draft) index(next *crd) error {
	c, err := d.touch(next.catalog)
	if err != nil {
		return err
	}
	old, _ := c.crds.Get(next.name)
	if old != nil {
		c.forget(old)
	}
	c.learn(next)
	d.next.counts.count(old, -1)
	d.next.counts.count(next, 1)
	d.changes = append(d.changes, change{catalog: c.name, before: old, after: next})
	return nil
}

func (d *draft) putGroup(key entryKey, e Entry) error {
	c, err := d.touch(key.catalog)
	if err != nil {
		return err
	}
	g := c.group(key.group)
	g.version = e.Version
	c.groups = c.groups.Set(key.group, &g)
	return nil
}

func (d *draft) remove(key entryKey) error {
	if _, ok := d.next.catalogs.Get(key.catalog); !ok {
		return nil // it went with its catalog, or is not there
	}
	c, err := d.touch(key.catalog)
	if err != nil {
		return err
	}
	switch key.kind {
	case catalogPrefix:
		for _, old := range c.sorted.All() {
			d.next.counts.count(old, -1)
			d.changes = append(d.changes, change{catalog: c.name, before: old})
		}
		d.next.counts.Catalogs--
		d.ended = append(d.ended, change{catalog: c.name, ended: true})
		d.next.removeCatalog(c.name)
		delete(d.touched, c.name)
	case crdPrefix:
		if old, ok := c.crds.Get(key.crd); ok {
			c.forget(old)
			c.crds, c.sorted = c.crds.Delete(old.name), c.sorted.Delete(old.name)
			d.next.counts.count(old, -1)
			d.changes = append(d.changes, change{catalog: c.name, before: old})
		}
	case groupPrefix:
		g := c.group(key.group)
		g.version = 0
		if c.groups = c.groups.Set(key.group, &g); g.crds == 0 {
			c.groups = c.groups.Delete(key.group)
		}
	}
	return nil
}

// group returns a copy of a group, an empty one if there is none.
func (c *catalog) group(name string) group {
	if g, ok := c.groups.Get(name); ok {
		return *g
	}
	return group{}
}

// learn enters a CRD, forget takes what follows from it out again.
func (c *catalog) learn(d *crd) {
	c.crds, c.sorted = c.crds.Set(d.name, d), c.sorted.Set(d.name, d)
	name := d.standing().Group
	c.groups = c.groups.Set(name, c.group(name).add(d))
	if d.established() {
		c.kinds = c.kinds.Set(groupKind{name, d.record.Status.AcceptedNames.Kind}, d)
	}
}

func (c *catalog) forget(d *crd) {
	name := d.standing().Group
	if g := c.group(name).remove(d); g.crds == 0 && g.version == 0 {
		c.groups = c.groups.Delete(name)
	} else {
		c.groups = c.groups.Set(name, g)
	}
	kind := groupKind{name, d.record.Status.AcceptedNames.Kind}
	if holder, _ := c.kinds.Get(kind); holder != nil && holder.name == d.name {
		c.kinds = c.kinds.Delete(kind)
	}
}
