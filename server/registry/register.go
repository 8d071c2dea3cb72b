package registry

import (
	"context"
	"fmt"
	"slices"

	"github.com/crdeval/crdeval/engine"
)

// Register judges a manifest and, if it is accepted, makes it the current revision of its name. When it returns without an error, the
// store has it for good. Registering what is current already changes nothing: same etag, same generation, the token of now.
func (r *Registry) Register(ctx context.Context, catalog string, manifest engine.Document, p Precondition) (Registration, error) {
	if p.Etag != "" && p.CreateOnly {
		return Registration{}, &Error{Reason: InvalidArgument, Message: "etag and create_only exclude each other: give one", Metadata: map[string]string{"field": "create_only"}}
	}
	// Compiling is the expensive part: it happens before the write's turn comes, with the catalog as it is now.
	definition, registration, err := r.judge(ctx, r.snapshot.Load(), catalog, manifest)
	if err != nil || definition == nil {
		return registration, err
	}
	revision, err := describe(definition)
	if err != nil {
		return Registration{}, err
	}
	name := definition.Name()
	s, err := r.write(ctx, func(s *snapshot) (Transaction, error) {
		c, err := s.catalog(catalog)
		if err != nil {
			return Transaction{}, err
		}
		if err := p.check(c, name); err != nil {
			return Transaction{}, err
		}
		registration.Outcome = Created
		if old := c.crds[name]; old != nil {
			if registration.Outcome = Updated; old.current().digest == revision.digest {
				registration.Outcome = Unchanged
			}
		}
		return r.registration(c, name, revision)
	})
	if err != nil {
		return Registration{}, err
	}
	// Only now: a manifest that was not stored has no place in the budget of those that were.
	r.programs.Add(revision.digest, definition)
	c, err := s.catalog(catalog)
	if err != nil {
		return Registration{}, err
	}
	d, err := c.crd(name)
	if err != nil {
		return Registration{}, err // another replica deleted it in the same moment
	}
	registration.CRD = c.describeCRD(d, revision)
	registration.Token = r.tag.token(s.sequence)
	return registration, nil
}

// Check judges a manifest as Register does and stores nothing.
func (r *Registry) Check(ctx context.Context, catalog string, manifest engine.Document, atLeast string) (Registration, error) {
	s, err := r.at(ctx, atLeast)
	if err != nil {
		return Registration{}, err
	}
	definition, registration, err := r.judge(ctx, s, catalog, manifest)
	if err != nil || definition == nil {
		return registration, err
	}
	revision, err := describe(definition)
	if err != nil {
		return Registration{}, err
	}
	registration.CRD = s.catalogs[catalog].preview(definition.Name(), revision, r.now())
	return registration, nil
}

// longManifest is the size beyond which a manifest waits for its turn among its like. Most have some 10 KiB; the time grows with the size.
const longManifest = 256 << 10

// judge compiles a manifest for a catalog when its turn has come; the definition is nil if it is not accepted.
func (r *Registry) judge(ctx context.Context, s *snapshot, catalog string, manifest engine.Document) (*engine.Definition, Registration, error) {
	c, err := s.catalog(catalog)
	if err != nil {
		return nil, Registration{}, err
	}
	places := r.compiling
	if len(manifest.JSON)+len(manifest.YAML) > longManifest {
		places = r.compilingLong
	}
	select {
	case places <- struct{}{}:
		defer func() { <-places }()
	case <-ctx.Done():
		return nil, Registration{}, context.Cause(ctx)
	}
	o := r.engine
	o.KubernetesMinor = c.record.KubernetesMinor
	definition, report, err := engine.Compile(ctx, manifest, o)
	registration := Registration{Report: report}
	if err == nil && definition == nil {
		registration.Outcome = Refused
	}
	return definition, registration, err
}

func (p Precondition) check(c *catalog, name string) error {
	d := c.crds[name]
	switch {
	case p.CreateOnly && d != nil:
		return &Error{
			Reason: CRDExists, Message: fmt.Sprintf("catalog %q has a CRD %q already, with etag %q", c.name, name, d.record.Etag),
			Metadata: map[string]string{"catalog": c.name, "crd": name, "etag": d.record.Etag},
		}
	case p.Etag != "" && d == nil:
		return &Error{
			Reason: EtagMismatch, Message: fmt.Sprintf("catalog %q has no CRD %q, so it cannot have etag %q: somebody deleted it; register it with create_only", c.name, name, p.Etag),
			Metadata: map[string]string{"catalog": c.name, "crd": name},
		}
	case p.Etag != "" && p.Etag != d.record.Etag:
		return &Error{
			Reason: EtagMismatch, Message: fmt.Sprintf("CRD %q of catalog %q has etag %q, not %q: somebody wrote in between; read it again", name, c.name, d.record.Etag, p.Etag),
			Metadata: map[string]string{"catalog": c.name, "crd": name, "etag": d.record.Etag},
		}
	}
	return nil
}

// registration plans the commit that makes a revision current: nothing if it is, otherwise the CRD's record, the revision unless it is kept
// already, and the removal of what retention no longer covers.
func (r *Registry) registration(c *catalog, name string, rev *revision) (Transaction, error) {
	now := r.now().UTC()
	old := c.crds[name]
	if old != nil && old.current().digest == rev.digest {
		return Transaction{}, nil
	}
	t := Transaction{Expect: []Expectation{{Key: catalogKey(c.name), Version: c.version}, {Key: crdKey(c.name, name)}}}
	record := crdRecord{Etag: newEtag(), Generation: 1, Created: now, Updated: now, NamesSince: now}
	if old != nil {
		t.Expect[1].Version = old.version
		record.Generation, record.Created = old.record.Generation+1, old.record.Created
		record.StoredVersions = slices.Clone(old.record.StoredVersions)
		if sameNames(old.current().summary, rev.summary) {
			record.NamesSince = old.record.NamesSince
		}
		record.Revisions = slices.DeleteFunc(slices.Clone(old.record.Revisions), func(ref revisionRef) bool { return ref.Digest == rev.digest })
	}
	// As upstream keeps status.storedVersions: what was ever the storage version may be in storage.
	if !slices.Contains(record.StoredVersions, rev.summary.StorageVersion) {
		record.StoredVersions = append(record.StoredVersions, rev.summary.StorageVersion)
	}
	var dropped []revisionRef
	record.Revisions, dropped = retain(append(record.Revisions, revisionRef{Digest: rev.digest, Since: now}), now)
	for _, ref := range dropped {
		t.Delete = append(t.Delete, revisionKey(c.name, name, ref.Digest))
	}
	value, err := encodeRecord(record, nil)
	if err != nil {
		return Transaction{}, err
	}
	t.Put = append(t.Put, Entry{Key: crdKey(c.name, name), Value: value})
	if old == nil || old.revisions[rev.digest] == nil {
		value, err := encodeRecord(rev.summary, rev.manifest)
		if err != nil {
			return Transaction{}, err
		}
		t.Put = append(t.Put, Entry{Key: revisionKey(c.name, name, rev.digest), Value: value})
	}
	if old == nil && c.name != DefaultCatalog {
		// The catalog's entry gets a new version, so that a deletion planned elsewhere without this CRD does not go through.
		value, err := encodeRecord(c.record, nil)
		if err != nil {
			return Transaction{}, err
		}
		t.Put = append(t.Put, Entry{Key: catalogKey(c.name), Value: value})
	}
	return t, nil
}

func sameNames(a, b summary) bool {
	return a.Names.Plural == b.Names.Plural && a.Names.Singular == b.Names.Singular && slices.Equal(a.Names.ShortNames, b.Names.ShortNames) &&
		a.Names.Kind == b.Names.Kind && a.Names.ListKind == b.Names.ListKind
}

// Delete removes a CRD with all its revisions; etag is a precondition if not empty. It returns the write's token.
func (r *Registry) Delete(ctx context.Context, catalog, name, etag string) (token string, err error) {
	s, err := r.write(ctx, func(s *snapshot) (Transaction, error) {
		c, err := s.catalog(catalog)
		if err != nil {
			return Transaction{}, err
		}
		d, err := c.crd(name)
		if err != nil {
			return Transaction{}, err
		}
		if err := (Precondition{Etag: etag}).check(c, name); err != nil {
			return Transaction{}, err
		}
		return Transaction{Expect: []Expectation{{Key: crdKey(catalog, name), Version: d.version}}, Delete: d.keys()}, nil
	})
	if err != nil {
		return "", err
	}
	return r.tag.token(s.sequence), nil
}
