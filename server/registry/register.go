package registry

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/crdeval/crdeval/engine"
)

// errOutdated is the error of a write whose candidate was compiled against an older state.
var errOutdated = errors.New("registry: the CRD has changed since the manifest was compiled")

// Register compiles a manifest and, if it is accepted, makes it the current revision of its CRD. A CRD with the same
// name is updated. When Register returns without an error, the store has the revision. Registering the current revision
// again only adds the storage version to status.storedVersions if SetStoredVersions has removed it.
func (r *Registry) Register(
	ctx context.Context, catalog string, manifest engine.Document, p Precondition,
) (Registration, error) {
	done, _, err := r.RegisterAll(ctx, catalog, []Submission{{Manifest: manifest, Precondition: p}})
	if err != nil {
		return Registration{}, err
	}
	return done[0].Registration, done[0].Err
}

// writeCandidate registers a compiled manifest, or returns errOutdated.
func (r *Registry) writeCandidate(
	ctx context.Context, catalog string, j *candidate, p Precondition,
) (Registration, error) {
	done := j.registration(p.NotOlderThan)
	if j.revision == nil {
		// A failed precondition is returned first: the manifest was compiled against another state than the caller
		// expects.
		c, err := r.snapshot.Load().catalog(catalog)
		if err == nil {
			err = p.check(c, j.name)
		}
		if err == nil && !j.current(c) { // another write, such as that of an earlier manifest
			err = errOutdated
		}
		return done, err
	}
	w, err := r.writeWithin(ctx, catalog, j, p)
	if err != nil {
		return Registration{}, err
	}
	r.Programs.Add(j.revision.digest, j.definition)
	d, err := w.crd(catalog, j.name)
	if err != nil {
		return Registration{}, err
	}
	done.CRD, done.Token = d.describe(d.current()), r.tag.token(w.sequence)
	return done, nil
}

// writeWithin commits a compiled manifest within the quotas of the catalog.
func (r *Registry) writeWithin(ctx context.Context, catalog string, j *candidate, precondition Precondition) (*snapshot, error) {
	for {
		var over shortage
		w, err := r.write(ctx, func(s *snapshot) (p proposal, err error) {
			over = shortage{}
			c, err := s.catalog(catalog)
			if err != nil {
				return p, err
			}
			if err := precondition.check(c, j.name); err != nil {
				return p, err
			}
			if !j.current(c) {
				return p, errOutdated
			}
			p, err = c.registration(j, precondition.NotOlderThan, r.space(s, c, j.name), r.Now().UTC())
			if err == nil {
				over, err = r.excess(s, c, &p)
			}
			return p, err
		})
		if over == (shortage{}) {
			return w, err
		}
		if reclaimed, failed := r.reclaim(ctx, catalog, j.name, over); failed != nil || !reclaimed {
			return nil, cmp.Or(failed, err)
		}
	}
}

// reconcileGroup continues to reconcile the status of a group's CRDs. After a failure the next write to the group or
// Sweep continues.
func (r *Registry) reconcileGroup(ctx context.Context, catalog, group string) {
	for more := true; more; {
		_, p, err := r.commit(ctx, func(s *snapshot) (proposal, error) {
			c, ok := s.catalogs.Get(catalog)
			if !ok {
				return proposal{}, nil
			}
			return c.reconciliation(group, r.Now().UTC())
		})
		if err != nil {
			r.Log.WarnContext(ctx, "the status of some CRDs of a group is not reconciled yet; the next write to the group continues",
				"catalog", catalog, "group", group, "error", err)
		}
		more = err == nil && p.group != ""
	}
}

// Check returns what Register would return, and stores nothing.
func (r *Registry) Check(
	ctx context.Context, catalog string, one Submission, atLeast string,
) (Registration, error) {
	s, c, err := r.catalogAt(ctx, catalog, atLeast)
	if err != nil {
		return Registration{}, err
	}
	j, err := r.compile(ctx, c, Submission{Manifest: one.Manifest, FieldValidation: one.FieldValidation})
	if err != nil {
		return Registration{}, err
	}
	return r.preview(s, c, j)
}

// preview returns the registration that writing a candidate would make.
func (r *Registry) preview(s *snapshot, c *catalog, j *candidate) (Registration, error) {
	done := j.registration(0)
	if j.revision == nil {
		return done, nil
	}
	after, err := s.with(c, j, r.Now().UTC())
	if err != nil {
		return Registration{}, err
	}
	d, err := after.crd(j.name)
	if err != nil {
		return Registration{}, err
	}
	// Only a write sets these.
	done.CRD = d.describe(d.current())
	done.CRD.Etag, done.CRD.Generation, done.CRD.Created, done.CRD.Updated = "", 0, time.Time{}, time.Time{}
	for i := range done.CRD.Status.Conditions {
		done.CRD.Status.Conditions[i].LastTransitionTime.Time = time.Time{}
	}
	return done, nil
}

// with returns the catalog as it would be after registering a candidate.
func (s *snapshot) with(c *catalog, j *candidate, now time.Time) (*catalog, error) {
	p, err := c.registration(j, 0, unlimited, now)
	if err != nil || p.empty() {
		return c, err
	}
	base := *s
	base.catalogs = base.catalogs.Set(c.name, c)
	commit := Commit{Sequence: s.sequence + 1, Put: p.Put, Delete: p.Delete}
	for i := range commit.Put {
		commit.Put[i].Version = commit.Sequence
	}
	after, _, err := base.apply(commit)
	if err != nil {
		return nil, err
	}
	return after.catalog(c.name)
}

// Validate returns an error if fields exclude each other, or if NotOlderThan is negative. Registrations check this too,
// after they have read the store.
func (s *Submission) Validate() error {
	switch p := s.Precondition; {
	case p.Etag != "" && p.CreateOnly:
		return errorf(InvalidArgument, metadata{"field": "create_only"}, "etag and create_only exclude each other")
	case s.AsStored && !s.Conversion.Absent():
		return errorf(InvalidArgument, metadata{"field": "conversion"},
			"as_stored and conversion exclude each other: set the rules with SetConversion")
	}
	return s.Precondition.validate()
}

func (p Precondition) validate() error {
	if p.NotOlderThan < 0 {
		return errorf(InvalidArgument, metadata{"field": "not_older_than"}, "not_older_than: %d is negative", p.NotOlderThan)
	}
	return nil
}

// check returns an error if the precondition does not hold.
func (p Precondition) check(c *catalog, name string) error {
	d, _ := c.crds.Get(name)
	m := metadata{"catalog": c.name, "crd": name}
	if d != nil {
		m["etag"] = d.record.Etag
	}
	switch {
	case p.CreateOnly && d != nil:
		return errorf(CRDExists, m, "catalog %q already has a CRD %q, with etag %q", c.name, name, d.record.Etag)
	case p.Etag != "" && d == nil:
		return errorf(EtagMismatch, m,
			"catalog %q has no CRD %q, so it cannot have etag %q: it was deleted; register it with create_only",
			c.name, name, p.Etag)
	case p.Etag != "" && p.Etag != d.record.Etag:
		return errorf(EtagMismatch, m, "CRD %q of catalog %q has etag %q, not %q: another write changed it; read it again",
			name, c.name, d.record.Etag, p.Etag)
	}
	return p.checkFence(c, d, name)
}

// Delete removes a CRD with all its revisions, if the precondition holds. Waiting CRDs of the group get the names that
// become free. It returns the token of the write.
func (r *Registry) Delete(ctx context.Context, catalogName, name string, p Precondition) (token string, err error) {
	if err := p.validate(); err != nil {
		return "", err
	}
	w, err := r.writeTo(ctx, catalogName, name, p, func(c *catalog, d *crd) (proposal, error) {
		return c.deletion(d, p.NotOlderThan, r.Now().UTC())
	})
	if err != nil {
		return "", err
	}
	return r.tag.token(w.sequence), nil
}
