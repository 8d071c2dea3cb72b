package main

import (
	"context"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine"
)

// catalog is the cluster in which the CRDs of one run are registered, one after the other.
type catalog struct {
	judge    engine.Options
	existing map[string]*engine.Existing // as each stands: of --old, or as it was accepted last
	groups   map[string][]engine.Claimant
	now      time.Time
}

func newCatalog(o engine.Options) *catalog {
	c := &catalog{judge: o, existing: map[string]*engine.Existing{}, groups: map[string][]engine.Claimant{}, now: time.Unix(0, 0)}
	c.judge.Existing = func(name string) *engine.Existing { return c.existing[name] }
	return c
}

// options judge CRDs as updates of those of their names: of the run itself, or there before it.
func (c *catalog) options() engine.Options { return c.judge }

// add takes a CRD as one that was there before the run.
func (c *catalog) add(ctx context.Context, s *source) error {
	name, existing, err := engine.ExistingFrom(s.Document, engine.Limits{})
	if err != nil {
		return err
	}
	c.existing[name] = existing
	d, err := engine.CompileStored(ctx, existing.Manifest, engine.Options{})
	if err != nil {
		return err
	}
	c.claim(d, existing)
	return nil
}

// condition is a condition of a CRD's status.
type condition struct {
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// registered registers a CRD that was accepted, so that the next of its name is its update. It returns the condition NamesAccepted if that does not
// hold then.
func (c *catalog) registered(ctx context.Context, s *source) (*condition, error) {
	d, report, err := engine.Compile(ctx, s.Document, c.judge)
	if err != nil || d == nil {
		return nil, err
	}
	return c.accepted(d, report), nil
}

// accepted takes a CRD that was judged and accepted as registered. It returns the condition NamesAccepted if that does not hold then.
func (c *catalog) accepted(d *engine.Definition, report *engine.Report) *condition {
	now := &engine.Existing{Manifest: d.Manifest(), Generation: report.Generation}
	if known := c.existing[d.Name()]; known != nil {
		now.Status, now.Terminating = known.Status, known.Terminating
	}
	c.existing[d.Name()] = now
	c.claim(d, now)
	for i := range now.Status.Conditions {
		c := &now.Status.Conditions[i]
		if c.Type == apiextensionsv1.NamesAccepted && c.Status != apiextensionsv1.ConditionTrue {
			return &condition{Status: string(c.Status), Reason: c.Reason, Message: c.Message}
		}
	}
	return nil
}

// claim has a CRD claim its names after all others of its group; what the status of each then comes to goes to existing. One of the same name
// before it is replaced.
func (c *catalog) claim(d *engine.Definition, existing *engine.Existing) {
	c.now = c.now.Add(time.Second)
	standing := d.Standing()
	claimant := engine.Claimant{Name: d.Name(), Created: c.now, Standing: standing, Status: standing.Stored(existing.Status)}
	group := c.groups[d.Group()]
	if at := slices.IndexFunc(group, func(other engine.Claimant) bool { return other.Name == d.Name() }); at < 0 {
		group = append(group, claimant)
	} else {
		claimant.Created = group[at].Created
		group[at] = claimant
	}
	c.groups[d.Group()] = group
	engine.Settle(group, d.Name(), c.now)
	for i := range group {
		c.existing[group[i].Name].Status = group[i].Status
	}
}
