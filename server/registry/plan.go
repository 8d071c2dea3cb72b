package registry

import (
	"fmt"
	"slices"
	"time"

	"github.com/crdeval/crdeval/engine"
)

// plan is what a write wants to commit; more says that the group is to be settled further afterwards.
type plan struct {
	Transaction
	more bool
}

func (t *Transaction) empty() bool { return len(t.Put)+len(t.Delete)+len(t.DeletePrefix) == 0 }

// put adds an entry.
func (t *Transaction) put(key string, record any, rest packed) error {
	value, err := encodeRecord(record, rest)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", key, err)
	}
	t.Put = append(t.Put, Entry{Key: key, Value: value})
	return nil
}

func (t *Transaction) expect(key string, version uint64) {
	t.Expect = append(t.Expect, Expectation{Key: key, Version: version})
}

// registration plans the commit that makes a revision current: nothing if it is, otherwise the CRD's record, the revision unless it is kept
// already, the removal of what retention no longer covers, and the status of other CRDs of the group as far as it follows.
func (c *catalog) registration(name string, rev *revision, generation int64, now time.Time) (plan, error) {
	old, _ := c.crds.Get(name)
	if old != nil && old.current().digest == rev.digest {
		return plan{}, nil
	}
	next := &crd{catalog: c.name, name: name, record: crdRecord{Etag: newEtag(), Generation: generation, Created: now, Updated: now}}
	var p plan
	p.expect(catalogKey(c.name), c.version)
	var status engine.Status
	if old == nil {
		p.expect(crdKey(c.name, name), 0)
	} else {
		p.expect(crdKey(c.name, name), old.version)
		next.record.Created = old.record.Created
		status = *old.record.Status
		next.record.Revisions = slices.DeleteFunc(slices.Clone(old.record.Revisions), func(ref revisionRef) bool { return ref.Digest == rev.digest })
	}
	status = rev.summary.Standing.AddStoredVersion(status)
	next.record.Status = &status
	next.revisions = []*revision{rev}

	var dropped []revisionRef
	next.record.Revisions, dropped = retain(append(next.record.Revisions, revisionRef{Digest: rev.digest, Since: now}), now)
	for _, ref := range dropped {
		p.Delete = append(p.Delete, revisionKey(c.name, name, ref.Digest))
	}
	if old == nil || old.revision(rev.digest) == nil {
		if err := p.put(revisionKey(c.name, name, rev.digest), rev.summary, rev.manifest); err != nil {
			return plan{}, err
		}
	}
	if old == nil && c.name != DefaultCatalog {
		// The catalog's entry gets a new version, so that a deletion planned elsewhere without this CRD does not go through.
		if err := p.put(catalogKey(c.name), c.record, nil); err != nil {
			return plan{}, err
		}
	}
	err := p.settle(c, rev.summary.Standing.Group, next, "", now)
	return p, err
}

// deletion plans the commit that removes a CRD.
func (c *catalog) deletion(d *crd, now time.Time) (plan, error) {
	var p plan
	p.expect(crdKey(c.name, d.name), d.version)
	p.Delete = []string{crdKey(c.name, d.name)}
	p.DeletePrefix = []string{revisionKey(c.name, d.name, "")}
	err := p.settle(c, d.standing().Group, nil, d.name, now)
	return p, err
}

// settling plans the commit that settles a group further; nothing if there is nothing to do.
func (c *catalog) settling(group string, now time.Time) (plan, error) {
	if c.group(group).waiting.Len() == 0 {
		return plan{}, nil
	}
	var p plan
	p.expect(catalogKey(c.name), c.version)
	err := p.settle(c, group, nil, "", now)
	if len(p.Put) == 1 { // the group's entry alone
		return plan{}, err
	}
	return p, err
}

// settle adds to a commit what follows for a group, and the turn of this replica in deciding it. first is the CRD put, gone the name of one deleted.
func (p *plan) settle(c *catalog, group string, first *crd, gone string, now time.Time) error {
	s := c.settle(group, first, gone, now)
	if p.more = s.more; first != nil {
		if err := p.put(crdKey(c.name, first.name), first.record, nil); err != nil {
			return err
		}
	}
	for _, d := range s.others {
		// A new etag: who read the CRD before has read another status.
		d.record.Etag = newEtag()
		p.expect(crdKey(c.name, d.name), d.version)
		if err := p.put(crdKey(c.name, d.name), d.record.current(), nil); err != nil {
			return err
		}
	}
	g := c.group(group)
	p.expect(groupKey(c.name, group), g.version)
	if gone != "" && g.crds == 1 {
		if g.version > 0 {
			p.Delete = append(p.Delete, groupKey(c.name, group))
		}
		return nil
	}
	return p.put(groupKey(c.name, group), struct{}{}, nil)
}

// current is a record without what the former format had.
func (r crdRecord) current() crdRecord {
	r.FormerNamesSince, r.FormerStoredVersions = time.Time{}, nil
	return r
}
