// Package catalog has the CRDs of a run of a command, as one cluster would have them.
package catalog

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/crdeval/crdeval/engine/convert"
	"github.com/crdeval/crdeval/engine/kubeserver"

	"github.com/crdeval/crdeval/engine/publish"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/server/registry"
)

// Catalog has CRDs that were registered one after the other. It is not safe for concurrent changes.
type Catalog struct {
	kubernetes string
	named      map[string]*CRD
	now        time.Time
}

// CRD is a CRD of a Catalog. Its definition and its existing state are those of the last registration.
type CRD struct {
	Definition *engine.Definition
	Existing   *engine.Existing

	created time.Time
	adopted *engine.Existing // nil: the CRD was not adopted
}

// New returns an empty catalog that checks CRDs as a version of Kubernetes does, such as "1.34". "" is the latest supported one.
func New(kubernetes string) *Catalog {
	return &Catalog{kubernetes: kubernetes, named: map[string]*CRD{}, now: time.Unix(0, 0)}
}

// Registration says how Register treats a CRD.
type Registration struct {
	FieldValidation engine.FieldValidation
	// Apart reports whether the CRD is an update only of an adopted CRD, and not of another one of the run.
	Apart bool
}

// Register checks a CRD, and adds or replaces it. The CRD is nil if the report says that it is rejected.
func (c *Catalog) Register(
	ctx context.Context, manifest engine.Document, r Registration,
) (*engine.Report, *CRD, error) {
	existing := func(name string) *engine.Existing {
		switch known := c.named[name]; {
		case known == nil:
			return nil
		case r.Apart:
			return known.adopted
		default:
			return known.Existing
		}
	}
	d, report, err := engine.Compile(ctx, manifest,
		engine.Options{Kubernetes: c.kubernetes, FieldValidation: r.FieldValidation, Existing: existing})
	if err != nil || d == nil {
		return report, nil, err
	}
	stored := &engine.Existing{Manifest: d.Manifest(), Generation: report.Generation}
	if known := c.named[d.Name()]; known != nil {
		stored.Status, stored.Terminating = known.Existing.Status, known.Existing.Terminating
	}
	return report, c.add(d, stored), nil
}

// Adopt adds or replaces a CRD with its own status, and without checking it: a cluster accepted it.
func (c *Catalog) Adopt(ctx context.Context, manifest engine.Document) (*CRD, error) {
	_, existing, err := kubeserver.ExistingFrom(manifest, engine.Limits{})
	if err != nil {
		return nil, err
	}
	d, err := kubeserver.CompileStored(ctx, existing.Manifest, engine.Options{Terminating: existing.Terminating})
	if err != nil {
		return nil, err
	}
	adopted := c.add(d, existing)
	adopted.adopted = existing
	return adopted, nil
}

// add adds or replaces a CRD and reconciles the status of all CRDs of its group.
func (c *Catalog) add(d *engine.Definition, existing *engine.Existing) *CRD {
	c.now = c.now.Add(time.Second)
	added := c.named[d.Name()]
	if added == nil {
		added = &CRD{created: c.now}
		c.named[d.Name()] = added
	}
	added.Definition, added.Existing = d, existing
	var group []kubeserver.CRDStatus
	for name, of := range c.named {
		if of.Definition.Group() == d.Group() {
			names := kubeserver.DesiredStatusOf(of.Definition)
			group = append(group, kubeserver.CRDStatus{
				Name: name, Created: of.created, Desired: names, Status: names.AddStoredVersion(of.Existing.Status),
			})
		}
	}
	kubeserver.ReconcileStatus(group, d.Name(), c.now)
	for i := range group {
		c.named[group[i].Name].Existing.Status = group[i].Status
	}
	return added
}

// SetConversion sets the conversion rules of a CRD if they are accepted. Their laws are tested on so many objects for
// each pair of versions and direction.
func (c *Catalog) SetConversion(
	ctx context.Context, name string, rules engine.Document, objects int,
) (*convert.Report, error) {
	of := c.named[name]
	if of == nil {
		return nil, NoCRDForRules(name)
	}
	d, report, err := CompileConversion(ctx, of.Existing, rules, engine.Options{Kubernetes: c.kubernetes}, objects)
	if d != nil {
		of.Definition = d
	}
	return report, err
}

// CompileConversion compiles a CRD with conversion rules and tests their laws. The Definition is nil if the report says
// that the rules are not accepted.
func CompileConversion(
	ctx context.Context, existing *engine.Existing, rules engine.Document, o engine.Options, objects int,
) (*engine.Definition, *convert.Report, error) {
	d, _, report, err := registry.CompileConversion(ctx, existing, rules, o, objects)
	if err != nil {
		return nil, nil, err
	}
	if report.Conversion == nil { // the document has no rules
		return d, &convert.Report{Accepted: true}, nil
	}
	return d, report.Conversion, nil
}

// NoCRDForRules returns the error of conversion rules without their CRD.
func NoCRDForRules(crd string) error {
	return fmt.Errorf("these conversion rules are for %s, but the files have no accepted CRD of this name: "+
		"add it, or correct crd", crd)
}

// Names returns the names of the CRDs, sorted.
func (c *Catalog) Names() []string { return slices.Sorted(maps.Keys(c.named)) }

// Named returns the CRD with a name, or nil.
func (c *Catalog) Named(name string) *CRD { return c.named[name] }

// OfKind returns the first CRD of a kind, or nil.
func (c *Catalog) OfKind(group, kind string) (first *CRD) {
	for _, of := range c.named {
		if of.Definition.Group() != group || of.Definition.Kind() != kind {
			continue
		}
		if first == nil || of.created.Before(first.created) {
			first = of
		}
	}
	return first
}

// CRDs describes the CRDs. Of those with the same kind, only the first is established.
func (c *Catalog) CRDs(established bool) (all []publish.CRD) {
	for _, name := range c.Names() {
		of := c.named[name]
		if !established || c.OfKind(of.Definition.Group(), of.Definition.Kind()) == of {
			all = append(all, publish.NewCRD(of.Definition, of.Existing.Status))
		}
	}
	return all
}
