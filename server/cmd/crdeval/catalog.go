package main

import (
	"context"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine"
)

// catalog is the cluster in which the CRDs of one run are registered, one after the other.
type catalog struct {
	judge    engine.Options
	existing map[string]*engine.Existing // of --old
	groups   map[string][]engine.Claimant
	now      time.Time
}

func newCatalog(o engine.Options) *catalog {
	c := &catalog{judge: o, existing: map[string]*engine.Existing{}, groups: map[string][]engine.Claimant{}, now: time.Unix(0, 0)}
	c.judge.Existing = func(name string) *engine.Existing { return c.existing[name] }
	return c
}

// options judge CRDs as updates of those that were there before the run.
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
	c.claim(d, existing.Status)
	return nil
}

// condition is a condition of a CRD's status.
type condition struct {
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// registered registers a CRD that was accepted. It returns the condition NamesAccepted if that does not hold then.
func (c *catalog) registered(ctx context.Context, s *source) (*condition, error) {
	d, _, err := engine.Compile(ctx, s.Document, c.judge)
	if err != nil || d == nil {
		return nil, err
	}
	var status engine.Status
	if known := c.existing[d.Name()]; known != nil {
		status = known.Status
	}
	settled := c.claim(d, status)
	for i := range settled.Conditions {
		c := &settled.Conditions[i]
		if c.Type == apiextensionsv1.NamesAccepted && c.Status != apiextensionsv1.ConditionTrue {
			return &condition{Status: string(c.Status), Reason: c.Reason, Message: c.Message}, nil
		}
	}
	return nil, nil
}

// claim has a CRD claim its names after all others of its group, and returns what its status comes to. One of the same name before it is replaced.
func (c *catalog) claim(d *engine.Definition, status engine.Status) *engine.Status {
	c.now = c.now.Add(time.Second)
	group := c.groups[d.Group()]
	at := -1
	for i := range group {
		if group[i].Name == d.Name() {
			at, status = i, group[i].Status
		}
	}
	standing := d.Standing()
	claimant := engine.Claimant{Name: d.Name(), Created: c.now, Generation: 1, Standing: standing, Status: standing.Stored(status)}
	if at < 0 {
		at, group = len(group), append(group, claimant)
	} else {
		claimant.Created = group[at].Created
		group[at] = claimant
	}
	c.groups[d.Group()] = group
	engine.Settle(group, d.Name(), c.now)
	return &group[at].Status
}
