package registry

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

func (c *catalog) crd(name string) (*crd, error) {
	if d, ok := c.crds[name]; ok {
		return d, nil
	}
	return nil, &Error{
		Reason: CRDNotFound, Message: fmt.Sprintf("catalog %q has no CRD %q: register it, or look for its name in the catalog's list", c.name, name),
		Metadata: map[string]string{"catalog": c.name, "crd": name},
	}
}

// at returns a revision that is kept; the current one for "".
func (c *crd) at(digest string) (*revision, error) {
	if digest == "" {
		return c.current(), nil
	}
	if rev, ok := c.revisions[digest]; ok {
		return rev, nil
	}
	return nil, &Error{
		Reason: RevisionNotFound,
		Message: fmt.Sprintf("CRD %q of catalog %q has no revision %q, or no longer: the last %d stay, and those of the last %v; the current one is %s",
			c.name, c.catalog, digest, KeptRevisions, KeptFor, c.current().digest),
		Metadata: map[string]string{"catalog": c.catalog, "crd": c.name, "revision": digest},
	}
}

// describeCRD describes a CRD at one of its revisions, without the manifest.
func (c *catalog) describeCRD(d *crd, rev *revision) *CRD {
	s := rev.summary
	out := &CRD{
		Catalog: c.name, Name: d.name, Revision: rev.digest, Etag: d.record.Etag, Generation: d.record.Generation,
		Created: d.record.Created, Updated: d.record.Updated,
		Group: s.Group, Kind: s.Names.Kind, ListKind: s.Names.ListKind, Plural: s.Names.Plural, Singular: s.Names.Singular,
		ShortNames: s.Names.ShortNames, Categories: s.Names.Categories, Scope: s.Scope, Versions: s.Versions,
		StorageVersion: s.StorageVersion, StoredVersions: d.record.StoredVersions,
	}
	out.Established, out.Conditions = c.conditions(d)
	return out
}

// preview describes a CRD as it would stand after registering rev.
func (c *catalog) preview(name string, rev *revision, now time.Time) *CRD {
	next := &catalog{name: c.name, crds: maps.Clone(c.crds)}
	if next.crds == nil {
		next.crds = map[string]*crd{}
	}
	d := &crd{catalog: c.name, name: name, revisions: map[string]*revision{rev.digest: rev}}
	d.record = crdRecord{Created: now, NamesSince: now, Revisions: []revisionRef{{Digest: rev.digest}}}
	if old := c.crds[name]; old != nil {
		d.record.StoredVersions = slices.Clone(old.record.StoredVersions)
		if d.record.Created = old.record.Created; sameNames(old.current().summary, rev.summary) {
			d.record.NamesSince = old.record.NamesSince
		}
	}
	if !slices.Contains(d.record.StoredVersions, rev.summary.StorageVersion) {
		d.record.StoredVersions = append(d.record.StoredVersions, rev.summary.StorageVersion)
	}
	next.crds[name] = d
	next.index()
	out := next.describeCRD(d, rev)
	out.Created = time.Time{}
	return out
}

// CRD returns one, at a revision that is kept or, if revision is empty, at the current one, with its manifest.
func (r *Registry) CRD(ctx context.Context, catalog, name, revision, atLeast string) (*CRD, error) {
	s, err := r.at(ctx, atLeast)
	if err != nil {
		return nil, err
	}
	c, err := s.catalog(catalog)
	if err != nil {
		return nil, err
	}
	d, err := c.crd(name)
	if err != nil {
		return nil, err
	}
	rev, err := d.at(revision)
	if err != nil {
		return nil, err
	}
	out := c.describeCRD(d, rev)
	out.Manifest, err = rev.manifest.unpack()
	return out, err
}
