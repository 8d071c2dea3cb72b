package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	crdeval "github.com/crdeval/crdeval/clients/go"
	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/server/api"
	"github.com/crdeval/crdeval/server/inprocess"
	"github.com/crdeval/crdeval/server/registry"
)

// localRegistry is the registry of the service in this process: one catalog in memory. Unlike other registries it also
// takes CRDs with their status, as a cluster has them. CRDs are registered one after the other.
type localRegistry struct {
	api.Registry // nil: the commands call no other methods
	minor        int
	adopts       bool        // the next CRD to register is taken with its status, as a cluster has it
	crds         []*localCRD // in the order of registration
	now          time.Time
}

// localCRD is a CRD of a localRegistry. Its definition and its existing state are those of the last registration.
type localCRD struct {
	definition *engine.Definition
	existing   *engine.Existing
	created    time.Time
}

// localLimit is the limit of the service in this process for a message in bytes and for the items of a request.
const localLimit = 1 << 30

// newLocalService starts a service in this process.
func newLocalService(minor int) *service {
	r := &localRegistry{minor: minor, now: time.Unix(0, 0)}
	conn := inprocess.New(inprocess.Options{})
	api.Register(conn, api.Options{
		Registry: r, Limits: api.Limits{MaxBatchItems: localLimit, MaxMessageBytes: localLimit},
		Log: slog.New(slog.DiscardHandler),
	})
	return &service{Client: crdeval.New(conn, "default"), catalog: "default", local: r, close: conn.Stop}
}

func (r *localRegistry) find(name string) *localCRD {
	for _, c := range r.crds {
		if c.definition.Name() == name {
			return c
		}
	}
	return nil
}

// options returns the options for checking the next CRD.
func (r *localRegistry) options() engine.Options {
	return engine.Options{KubernetesMinor: r.minor, Existing: func(name string) *engine.Existing {
		if c := r.find(name); c != nil {
			return c.existing
		}
		return nil
	}}
}

// adopt takes a CRD with its status, as a cluster has it, without checking it.
func (r *localRegistry) adopt(ctx context.Context, manifest engine.Document) (registry.Registration, error) {
	name, existing, err := engine.ExistingFrom(manifest, engine.Limits{})
	if err != nil {
		return registry.Registration{}, err
	}
	d, err := engine.CompileStored(ctx, existing.Manifest, engine.Options{Terminating: existing.Terminating})
	if err != nil {
		return registry.Registration{}, err
	}
	r.add(d, existing)
	report := &engine.Report{Name: name, Accepted: true}
	return registry.Registration{Report: report, CRD: &registry.CRD{Name: name}, Outcome: registry.Created}, nil
}

// Register implements api.Registry.
func (r *localRegistry) Register(
	ctx context.Context, _ string, manifest engine.Document, _ registry.Precondition,
) (registry.Registration, error) {
	if r.adopts {
		return r.adopt(ctx, manifest)
	}
	options := r.options()
	report, err := engine.Check(ctx, manifest, options)
	if err != nil || !report.Accepted {
		return registry.Registration{Report: report, Outcome: registry.Rejected}, err
	}
	known := r.find(report.Name)
	options.Terminating = known != nil && known.existing.Terminating // an update does not end the deletion
	d, report, err := engine.Compile(ctx, manifest, options)
	if err != nil {
		return registry.Registration{}, err
	}
	existing := &engine.Existing{Manifest: d.Manifest(), Generation: report.Generation, Terminating: options.Terminating}
	if known != nil {
		existing.Status = known.existing.Status
	}
	r.add(d, existing)
	crd := &registry.CRD{Name: d.Name()}
	crd.Status.Conditions = slices.Clone(existing.Status.Conditions)
	for i := range crd.Status.Conditions {
		crd.Status.Conditions[i].LastTransitionTime.Time = time.Time{}
	}
	return registry.Registration{Report: report, CRD: crd, Outcome: registry.Created}, nil
}

// add adds or replaces a CRD and reconciles the status of all CRDs of its group.
func (r *localRegistry) add(d *engine.Definition, existing *engine.Existing) {
	r.now = r.now.Add(time.Second)
	if known := r.find(d.Name()); known != nil {
		known.definition, known.existing = d, existing
	} else {
		r.crds = append(r.crds, &localCRD{d, existing, r.now})
	}
	var group []engine.CRDStatus
	var members []*localCRD
	for _, c := range r.crds {
		if c.definition.Group() == d.Group() {
			names := c.definition.DesiredStatus()
			group = append(group, engine.CRDStatus{
				Name: c.definition.Name(), Created: c.created, Desired: names, Status: names.AddStoredVersion(c.existing.Status),
			})
			members = append(members, c)
		}
	}
	engine.ReconcileStatus(group, d.Name(), r.now)
	for i, c := range members {
		c.existing.Status = group[i].Status
	}
}

// Check implements api.Registry.
func (r *localRegistry) Check(
	ctx context.Context, _ string, manifest engine.Document, _ string,
) (registry.Registration, error) {
	report, err := engine.Check(ctx, manifest, r.options())
	return registry.Registration{Report: report, CRD: &registry.CRD{}}, err
}

// Compare implements api.Registry for two manifests. The base is taken as a cluster has it.
func (r *localRegistry) Compare(
	ctx context.Context, _ string, c registry.Comparison, _ string,
) (*registry.Compared, error) {
	options := engine.Options{KubernetesMinor: r.minor}
	diff, err := engine.Compare(ctx, c.Base, c.New, options)
	if err != nil || len(c.Objects) == 0 || !diff.Report.Accepted {
		return &registry.Compared{Diff: diff}, err
	}
	base, existing, err := engine.ExistingFrom(c.Base, engine.Limits{})
	if err != nil {
		return nil, err
	}
	old, err := engine.CompileStored(ctx, existing.Manifest, options)
	if err != nil {
		return nil, err
	}
	options.Existing = func(name string) *engine.Existing {
		if name != base {
			return nil
		}
		return existing
	}
	d, _, err := engine.Compile(ctx, c.New, options)
	if err != nil {
		return nil, err
	}
	items := make([]engine.Item, len(c.Objects))
	for i, object := range c.Objects {
		items[i].Object = object
	}
	replayed, err := engine.Replay(ctx, old, d, items, engine.EvaluationOptions{})
	return &registry.Compared{Diff: diff, Replayed: replayed}, err
}

// View implements api.Registry.
func (r *localRegistry) View(context.Context, string, string) (registry.View, error) {
	return r, nil
}

// Named implements registry.View.
func (r *localRegistry) Named(_ context.Context, name, _ string) (*engine.Definition, error) {
	if c := r.find(name); c != nil {
		return c.definition, nil
	}
	return nil, &registry.Error{Reason: registry.CRDNotFound, Message: fmt.Sprintf("there is no CRD %s", name)}
}

// OfKind implements registry.View. Of several CRDs for a kind, the first has it.
func (r *localRegistry) OfKind(_ context.Context, group, kind, _ string) (*engine.Definition, error) {
	for _, c := range r.crds {
		if c.definition.Group() == group && c.definition.Kind() == kind {
			return c.definition, nil
		}
	}
	return nil, &registry.Error{Reason: registry.CRDNotFound,
		Message: fmt.Sprintf("there is no CRD for %s of group %s", kind, group)}
}

// Discoverable implements registry.View.
func (r *localRegistry) Discoverable() []engine.DiscoverableCRD {
	var all []engine.DiscoverableCRD
	for _, c := range r.sorted() {
		all = append(all, engine.DiscoverableCRD{Definition: c.definition, Status: c.existing.Status})
	}
	return all
}

// Published implements registry.View.
func (r *localRegistry) Published() []engine.PublishedCRD {
	var all []*engine.Definition
	for _, c := range r.sorted() {
		d := c.definition
		if first, err := r.OfKind(context.Background(), d.Group(), d.Kind(), ""); err == nil && first == d {
			all = append(all, d)
		}
	}
	return engine.Published(all...)
}

// sorted returns the CRDs by name.
func (r *localRegistry) sorted() []*localCRD {
	return slices.SortedFunc(slices.Values(r.crds), func(a, b *localCRD) int {
		return strings.Compare(a.definition.Name(), b.definition.Name())
	})
}

// State implements registry.View: it changes with each registration.
func (r *localRegistry) State() any { return r.now }
