package registry

import (
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// proposal is a transaction that a write proposes.
type proposal struct {
	Transaction
	growth         Counts // of the catalog of a registration
	catalog, group string // the group in which further commits have to reconcile the status of CRDs, or empty
}

func (t *Transaction) empty() bool { return len(t.Put)+len(t.Delete)+len(t.DeletePrefix) == 0 }

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

// registration proposes the commit that makes a candidate the current revision of its CRD, whose older revisions have to
// fit into a space. It is empty if nothing changes.
func (c *catalog) registration(j *candidate, notOlderThan int64, fit space, now time.Time) (proposal, error) {
	var p proposal
	name, rev := j.name, j.revision
	old, _ := c.crds.Get(name)
	if old != nil && j.unchanged(old, notOlderThan) {
		return p, nil
	}
	next := &crd{catalog: c.name, name: name, record: crdRecord{
		Etag: newEtag(), Generation: j.generation, Created: now, Updated: now,
		Fence: max(notOlderThan, c.record.deletedFence(name)),
	}}
	ref := revisionRef{Digest: rev.digest, Since: now}
	var status apiextensionsv1.CustomResourceDefinitionStatus
	if old == nil {
		p.expect(crdKey(c.name, name), 0)
	} else {
		p.expect(crdKey(c.name, name), old.version)
		next.record.Created, next.record.Fence = old.record.Created, max(notOlderThan, old.record.Fence)
		status = *old.record.Status
		for i, before := range old.record.Revisions {
			switch {
			case before.Digest != rev.digest:
				next.addRevision(before, old.revisions[i])
			case i == len(old.revisions)-1:
				ref.Since = before.Since
			}
		}
	}
	if s := j.stored; s != nil {
		next.record.Created, next.record.Metadata = s.created, &s.metadata
	}
	status = j.status(status)
	next.record.Status = &status

	next.addRevision(ref, rev)
	dropped := retain(next.record.Revisions, next.revisions, fit, now)
	p.dropRevisions(c.name, name, next.record.Revisions[:dropped])
	next.record.Revisions, next.revisions = next.record.Revisions[dropped:], next.revisions[dropped:]
	p.growth.add(next, 1)
	if old != nil {
		p.growth.add(old, -1)
	}
	if old == nil || old.revision(rev.digest) == nil {
		if err := p.put(revisionKey(c.name, name, rev.digest), rev.summary, rev.content); err != nil {
			return p, err
		}
	}
	registered := *c
	if c.record.deletedFence(name) != 0 {
		registered.record = c.record.withFence(name, 0)
	}
	return p, p.reconcile(&registered, rev.summary.Desired.Group, next, "", now)
}

// addRevision adds the current revision to a CRD that is being built.
func (c *crd) addRevision(ref revisionRef, rev *revision) {
	c.record.Revisions, c.revisions = append(c.record.Revisions, ref), append(c.revisions, rev)
}

func (t *Transaction) dropRevisions(catalog, crd string, refs []revisionRef) {
	for _, ref := range refs {
		t.Delete = append(t.Delete, revisionKey(catalog, crd, ref.Digest))
	}
}

// deletion proposes the commit that removes a CRD.
func (c *catalog) deletion(d *crd, notOlderThan int64, now time.Time) (proposal, error) {
	var p proposal
	p.expect(crdKey(c.name, d.name), d.version)
	p.Delete = []string{crdKey(c.name, d.name)}
	p.DeletePrefix = []string{revisionKey(c.name, d.name, "")}
	deleted := *c
	if fence := max(notOlderThan, d.record.Fence); fence != 0 {
		deleted.record = c.record.withFence(d.name, fence)
	}
	return p, p.reconcile(&deleted, d.desired().Group, nil, d.name, now)
}

// reconciliation proposes the commit that continues to reconcile a group. The proposal is empty if nothing changes.
func (c *catalog) reconciliation(group string, now time.Time) (proposal, error) {
	if c.group(group).waiting.Len() == 0 {
		return proposal{}, nil
	}
	var p proposal
	err := p.reconcile(c, group, nil, "", now)
	if len(p.Put) == 1 { // only the catalog's entry
		return proposal{}, err
	}
	return p, err
}

// reconcile adds the new status of the CRDs of a group to a commit, after changed was put or the CRD named deleted was
// deleted.
func (p *proposal) reconcile(c *catalog, group string, changed *crd, deleted string, now time.Time) error {
	others, more := c.reconcile(group, changed, deleted, now)
	if more {
		p.catalog, p.group = c.name, group
	}
	if changed != nil {
		if err := p.put(crdKey(c.name, changed.name), changed.record, nil); err != nil {
			return err
		}
	}
	for _, d := range others {
		d.record.Etag = newEtag()
		p.expect(crdKey(c.name, d.name), d.version)
		if err := p.put(crdKey(c.name, d.name), d.record, nil); err != nil {
			return err
		}
	}
	// Which CRD gets a name depends on the other CRDs, so such writes of replicas to one catalog are serialized by its
	// entry. A concurrent deletion of the catalog fails, too.
	p.expect(catalogKey(c.name), c.version)
	return p.put(catalogKey(c.name), c.record, nil)
}
