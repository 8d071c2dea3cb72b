package main

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	crdeval "github.com/crdeval/crdeval/clients/go"
	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/server/api"
	"github.com/crdeval/crdeval/server/inprocess"
	"github.com/crdeval/crdeval/server/input"
	"github.com/crdeval/crdeval/server/registry"
)

// localRegistry is the api.Registry and the registry.View of the service in this process: one catalog in memory. It
// also takes CRDs with their status, as a cluster has them. It registers CRDs one after the other.
type localRegistry struct {
	api.Registry // nil: the commands call no other methods
	minor        int
	adopts       bool // the next CRD to register is taken with its status, as a cluster has it
	crds         map[string]*localCRD
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
	r := &localRegistry{minor: minor, crds: map[string]*localCRD{}, now: time.Unix(0, 0)}
	conn := inprocess.New(inprocess.Options{})
	api.Register(conn, api.Options{
		Registry: r, Limits: api.Limits{MaxBatchItems: localLimit, MaxMessageBytes: localLimit},
		Log: slog.New(slog.DiscardHandler),
	})
	return &service{Client: crdeval.New(conn, "default"), catalog: "default", local: r, converted: map[string]*input.Source{}, close: conn.Stop}
}

// options returns the options for checking the next CRD.
func (r *localRegistry) options() engine.Options {
	return engine.Options{KubernetesMinor: r.minor, Existing: func(name string) *engine.Existing {
		if c := r.crds[name]; c != nil {
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

// RegisterAll ignores the preconditions and conversion rules of submissions: commands set rules with SetConversion.
func (r *localRegistry) RegisterAll(
	ctx context.Context, _ string, list []registry.Submission,
) (done []registry.Submitted, token string, err error) {
	for i := range list {
		registration, err := r.register(ctx, list[i].Manifest)
		done = append(done, registry.Submitted{Registration: registration, Err: err})
	}
	return done, "", nil
}

// register registers one CRD.
func (r *localRegistry) register(ctx context.Context, manifest engine.Document) (registry.Registration, error) {
	if r.adopts {
		return r.adopt(ctx, manifest)
	}
	d, report, err := engine.Compile(ctx, manifest, r.options())
	if err != nil || d == nil {
		return registry.Registration{Report: report, Outcome: registry.Rejected}, err
	}
	existing := &engine.Existing{Manifest: d.Manifest(), Generation: report.Generation}
	if known := r.crds[d.Name()]; known != nil {
		existing.Status, existing.Terminating = known.existing.Status, known.existing.Terminating
	}
	r.add(d, existing)
	crd := &registry.CRD{Name: d.Name(), Status: existing.Status}
	return registry.Registration{Report: report, CRD: crd, Outcome: registry.Created}, nil
}

// add adds or replaces a CRD and reconciles the status of all CRDs of its group.
func (r *localRegistry) add(d *engine.Definition, existing *engine.Existing) {
	r.now = r.now.Add(time.Second)
	if r.crds[d.Name()] == nil {
		r.crds[d.Name()] = &localCRD{created: r.now}
	}
	r.crds[d.Name()].definition, r.crds[d.Name()].existing = d, existing
	var group []engine.CRDStatus
	for name, c := range r.crds {
		if c.definition.Group() == d.Group() {
			names := c.definition.DesiredStatus()
			group = append(group, engine.CRDStatus{
				Name: name, Created: c.created, Desired: names, Status: names.AddStoredVersion(c.existing.Status),
			})
		}
	}
	engine.ReconcileStatus(group, d.Name(), r.now)
	for i := range group {
		r.crds[group[i].Name].existing.Status = group[i].Status
	}
}

func (r *localRegistry) Check(
	ctx context.Context, _ string, manifest engine.Document, _ string,
) (registry.Registration, error) {
	report, err := engine.Check(ctx, manifest, r.options())
	return registry.Registration{Report: report, CRD: &registry.CRD{}}, err
}

// Compare compares two manifests. The base is taken as a cluster has it.
func (r *localRegistry) Compare(
	ctx context.Context, _ string, c registry.Comparison, _ string,
) (*registry.Compared, error) {
	options := engine.Options{KubernetesMinor: r.minor}
	diff, err := engine.Compare(ctx, c.Base, c.New, options)
	if err != nil || len(c.Objects) == 0 && c.Tries == 0 || !diff.Report.Accepted {
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
	options = (&localRegistry{minor: r.minor, crds: map[string]*localCRD{base: {existing: existing}}}).options()
	d, _, err := engine.Compile(ctx, c.New, options)
	if err != nil {
		return nil, err
	}
	items := make([]engine.Item, len(c.Objects))
	for i, object := range c.Objects {
		items[i].Object = object
	}
	done := &registry.Compared{Diff: diff}
	if c.Tries > 0 {
		done.Counterexamples, err = engine.Counterexamples(ctx, old, d, diff.Changes,
			engine.CounterexampleOptions{Tries: c.Tries})
		if err != nil {
			return nil, err
		}
	}
	done.Replayed, err = engine.Replay(ctx, old, d, items, engine.EvaluationOptions{})
	return done, err
}

func (r *localRegistry) View(context.Context, string, string) (registry.View, error) {
	return r, nil
}

var errNoCRD = &registry.Error{Reason: registry.CRDNotFound, Message: "there is no such CRD"}

func (r *localRegistry) Named(_ context.Context, name, _ string) (*engine.Definition, error) {
	if c := r.crds[name]; c != nil {
		return c.definition, nil
	}
	return nil, errNoCRD
}

func (r *localRegistry) OfKind(_ context.Context, group, kind, _ string) (*engine.Definition, error) {
	if c := r.ofKind(group, kind); c != nil {
		return c.definition, nil
	}
	return nil, errNoCRD
}

// ofKind returns the CRD of a kind. Of several, the first has it.
func (r *localRegistry) ofKind(group, kind string) (first *localCRD) {
	for _, c := range r.crds {
		if c.definition.Group() == group && c.definition.Kind() == kind &&
			(first == nil || c.created.Before(first.created)) {
			first = c
		}
	}
	return first
}

// AllCRDs describes the CRDs. Of several for a kind, the first counts as established.
func (r *localRegistry) AllCRDs(established bool) []engine.CRD {
	var all []engine.CRD
	for _, name := range slices.Sorted(maps.Keys(r.crds)) {
		c := r.crds[name]
		if !established || r.ofKind(c.definition.Group(), c.definition.Kind()) == c {
			all = append(all, c.definition.CRD(c.existing.Status))
		}
	}
	return all
}

// DescribeCRD describes a CRD. There is one revision of each.
func (r *localRegistry) DescribeCRD(name, _ string) (engine.CRD, error) {
	if c := r.crds[name]; c != nil {
		return c.definition.CRD(c.existing.Status), nil
	}
	return engine.CRD{}, errNoCRD
}

// State changes with each registration.
func (r *localRegistry) State() any { return r.now }
