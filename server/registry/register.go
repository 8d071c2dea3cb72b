package registry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/crdeval/crdeval/engine"
)

// errJudgeAgain ends a write whose manifest was judged against what is registered no longer.
var errJudgeAgain = errors.New("registry: the CRD has changed since it was judged")

// Register judges a manifest and, if it is accepted, makes it the current revision of its name. If the catalog has a CRD of that name, it is judged as
// an update of that, otherwise as a creation. When it returns without an error, the store has it for good. Registering what is
// current already changes nothing: same etag, same generation, the token of now.
func (r *Registry) Register(ctx context.Context, catalog string, manifest engine.Document, p Precondition) (Registration, error) {
	if err := p.valid(); err != nil {
		return Registration{}, err
	}
	if err := r.newest(ctx); err != nil {
		return Registration{}, err
	}
	for {
		// Compiling is the expensive part: it happens before the write's turn comes, with the catalog as it is now.
		c, err := r.snapshot.Load().catalog(catalog)
		if err != nil {
			return Registration{}, err
		}
		j, err := r.judge(ctx, c, manifest)
		if err != nil {
			return Registration{}, err
		}
		done, err := r.enter(ctx, catalog, j, p)
		switch {
		case !errors.Is(err, errJudgeAgain):
			return done, err
		case ctx.Err() != nil:
			return Registration{}, context.Cause(ctx)
		}
		// Each time is somebody's success.
	}
}

// enter registers what was judged; errJudgeAgain if it has to be judged anew.
func (r *Registry) enter(ctx context.Context, catalog string, j *judged, p Precondition) (Registration, error) {
	done := j.registration()
	if j.revision == nil {
		// A precondition that is not met is told before what else is wrong: whoever gave it meant another state than the one judged against.
		c, err := r.snapshot.Load().catalog(catalog)
		if err == nil {
			err = p.check(c, j.report.Name)
		}
		if err != nil {
			return Registration{}, err
		}
		return done, nil
	}
	name := j.name
	w, err := r.write(ctx, func(s *snapshot) (plan, error) {
		c, err := s.catalog(catalog)
		if err != nil {
			return plan{}, err
		}
		if err := p.check(c, name); err != nil {
			return plan{}, err
		}
		if !j.holds(c) {
			return plan{}, errJudgeAgain
		}
		return c.registration(name, j.revision, j.generation, r.now().UTC())
	})
	if err != nil {
		return Registration{}, err
	}
	// Only now: a manifest that was not stored has no place in the budget of those that were.
	r.programs.Add(j.revision.digest, j.definition)
	if w.more {
		r.settleFurther(ctx, catalog, j.revision.summary.Standing.Group)
	}
	d, err := w.crd(catalog, name)
	if err != nil {
		return Registration{}, err
	}
	done.CRD = d.describe(d.current())
	done.Token = r.tag.token(w.sequence)
	return done, nil
}

// settleFurther commits what is left of settling a group. What fails here is done by the next write to the group, or by Sweep.
func (r *Registry) settleFurther(ctx context.Context, catalog, group string) {
	for more := true; more; {
		w, err := r.write(ctx, func(s *snapshot) (plan, error) {
			c, ok := s.catalogs.Get(catalog)
			if !ok {
				return plan{}, nil
			}
			return c.settling(group, r.now().UTC())
		})
		if err != nil {
			r.log.WarnContext(ctx, "the names of a group are not settled yet; the next write to it goes on", "catalog", catalog, "group", group, "error", err)
		}
		more = err == nil && w.more
	}
}

// Check judges a manifest as Register does and stores nothing.
func (r *Registry) Check(ctx context.Context, catalog string, manifest engine.Document, atLeast string) (Registration, error) {
	s, err := r.at(ctx, atLeast)
	if err != nil {
		return Registration{}, err
	}
	c, err := s.catalog(catalog)
	if err != nil {
		return Registration{}, err
	}
	j, err := r.judge(ctx, c, manifest)
	if err != nil || j.revision == nil {
		return j.answer(), err
	}
	after, err := s.with(c, j, r.now().UTC())
	if err != nil {
		return Registration{}, err
	}
	done := j.registration()
	d, err := after.crd(j.name)
	if err != nil {
		return Registration{}, err
	}
	// What only a write gives it.
	done.CRD = d.describe(d.current())
	done.CRD.Etag, done.CRD.Generation, done.CRD.Created, done.CRD.Updated = "", 0, time.Time{}, time.Time{}
	for i := range done.CRD.Conditions {
		done.CRD.Conditions[i].LastTransitionTime = time.Time{}
	}
	return done, nil
}

// answer is registration for what may not have been judged.
func (j *judged) answer() Registration {
	if j == nil {
		return Registration{}
	}
	return j.registration()
}

// with returns the catalog as it would be after registering what was judged against it.
func (s *snapshot) with(c *catalog, j *judged, now time.Time) (*catalog, error) {
	p, err := c.registration(j.name, j.revision, j.generation, now)
	if err != nil || p.empty() {
		return c, err
	}
	imagined := *s
	imagined.setCatalog(c)
	for i := range p.Put {
		p.Put[i].Version = s.sequence + 1 // nobody else's, and never compared
	}
	after, _, err := imagined.apply(Commit{Sequence: s.sequence + 1, Put: p.Put, Delete: p.Delete})
	if err != nil {
		return nil, err
	}
	return after.catalog(c.name)
}

// valid says whether a precondition can be met at all.
func (p Precondition) valid() error {
	if p.Etag != "" && p.CreateOnly {
		return &Error{Reason: InvalidArgument, Message: "etag and create_only exclude each other: give one", Metadata: map[string]string{"field": "create_only"}}
	}
	return nil
}

// check says whether a precondition is met.
func (p Precondition) check(c *catalog, name string) error {
	d, _ := c.crds.Get(name)
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

// Delete removes a CRD with all its revisions; etag is a precondition if not empty. CRDs of its group that waited for its names get them. It returns
// the write's token.
func (r *Registry) Delete(ctx context.Context, catalog, name, etag string) (token string, err error) {
	group := ""
	w, err := r.writeTo(ctx, catalog, name, etag, func(s *snapshot, d *crd) (plan, error) {
		group = d.standing().Group
		c, err := s.catalog(catalog)
		if err != nil {
			return plan{}, err
		}
		return c.deletion(d, r.now().UTC())
	})
	if err != nil {
		return "", err
	}
	if w.more {
		r.settleFurther(ctx, catalog, group)
	}
	return r.tag.token(w.sequence), nil
}
