package registry

import (
	"context"
	"encoding/json"
	"fmt"
)

func (c *catalog) crd(name string) (*crd, error) {
	if d, ok := c.crds.Get(name); ok {
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
	if rev := c.revision(digest); rev != nil {
		return rev, nil
	}
	return nil, &Error{
		Reason: RevisionNotFound,
		Message: fmt.Sprintf("CRD %q of catalog %q has no revision %q, or no longer: the last %d stay, and those of the last %v; the current one is %s",
			c.name, c.catalog, digest, KeptRevisions, KeptFor, c.current().digest),
		Metadata: map[string]string{"catalog": c.catalog, "crd": c.name, "revision": digest},
	}
}

// describe describes a CRD at one of its revisions, without the manifest.
func (c *crd) describe(rev *revision) *CRD {
	standing, status := &rev.summary.Standing, c.record.Status
	out := &CRD{
		Catalog: c.catalog, Name: c.name, Revision: rev.digest, Etag: c.record.Etag, Generation: c.record.Generation,
		Created: c.record.Created, Updated: c.record.Updated,
		Group: standing.Group, Kind: standing.Names.Kind, ListKind: standing.Names.ListKind, Plural: standing.Names.Plural, Singular: standing.Names.Singular,
		ShortNames: standing.Names.ShortNames, Categories: standing.Names.Categories, Scope: rev.summary.Scope, Versions: rev.summary.Versions,
		StorageVersion: standing.StorageVersion, StoredVersions: status.StoredVersions,
		AcceptedNames: status.AcceptedNames, ObservedGeneration: status.ObservedGeneration, Established: c.established(),
	}
	for i := range status.Conditions {
		s := &status.Conditions[i]
		out.Conditions = append(out.Conditions, Condition{
			Type: string(s.Type), Status: string(s.Status), Reason: s.Reason, Message: s.Message,
			LastTransitionTime: s.LastTransitionTime.Time, ObservedGeneration: s.ObservedGeneration,
		})
	}
	return out
}

// describeWhole describes a CRD with manifest and status.
func (c *crd) describeWhole(rev *revision) (*CRD, error) {
	out := c.describe(rev)
	var err error
	if out.Manifest, err = rev.unpack(c); err != nil {
		return nil, err
	}
	if out.Status, err = json.Marshal(c.record.Status); err != nil {
		return nil, fmt.Errorf("printing the status of CRD %q in catalog %q: %w", c.name, c.catalog, err)
	}
	return out, nil
}

// CRD returns one, at a revision that is kept or, if revision is empty, at the current one, with its manifest and its status of now.
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
	return d.describeWhole(rev)
}
