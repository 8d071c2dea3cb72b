// Package localregistry serves the API of crdeval in the process of a command, from one catalog in memory.
package localregistry

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/server/api"
	"github.com/crdeval/crdeval/server/inprocess"
	"github.com/crdeval/crdeval/server/registry"
)

// Registry is the api.Registry and the registry.View of the service in this process: one catalog in memory. It can
// adopt CRDs with the status that they have in a cluster. It registers CRDs one after the other.
type Registry struct {
	api.Registry // nil: the commands call no other methods
	minor        int
	tested       int  // objects on which the laws of conversion rules are tested
	Adopts       bool // register adopts CRDs instead of checking them
	ByName       map[string]*CRD
	now          time.Time
}

// CRD is a CRD of a Registry. Its definition and its existing state are those of the last registration.
type CRD struct {
	Definition *engine.Definition
	Existing   *engine.Existing
	created    time.Time
}

// noLimit is the limit of the service in this process for a message in bytes and for the items of a request.
const noLimit = 1 << 30

// Start starts a service without CRDs in this process. It tests the laws of conversion rules on a number of generated
// objects for each pair of versions and direction. The caller stops the connection.
func Start(minor, tested int) (*inprocess.Conn, *Registry) {
	r := &Registry{minor: minor, tested: tested, ByName: map[string]*CRD{}, now: time.Unix(0, 0)}
	conn := inprocess.New(inprocess.Options{})
	api.Register(conn, api.Options{
		Registry: r, Limits: api.Limits{MaxBatchItems: noLimit, MaxMessageBytes: noLimit},
		Log: slog.New(slog.DiscardHandler),
	})
	return conn, r
}

// options returns the options for checking the next CRD.
func (r *Registry) options() engine.Options {
	return engine.Options{KubernetesMinor: r.minor, Existing: func(name string) *engine.Existing {
		if c := r.ByName[name]; c != nil {
			return c.Existing
		}
		return nil
	}}
}

// adopt registers a CRD with its own status and without checking it.
func (r *Registry) adopt(ctx context.Context, manifest engine.Document) (registry.Registration, error) {
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
func (r *Registry) RegisterAll(
	ctx context.Context, _ string, list []registry.Submission,
) (done []registry.Submitted, token string, err error) {
	for i := range list {
		registration, err := r.register(ctx, &list[i])
		done = append(done, registry.Submitted{Registration: registration, Err: err})
	}
	return done, "", nil
}

// register registers one CRD.
func (r *Registry) register(ctx context.Context, one *registry.Submission) (registry.Registration, error) {
	if r.Adopts {
		return r.adopt(ctx, one.Manifest)
	}
	o := r.options()
	o.FieldValidation = one.FieldValidation
	d, report, err := engine.Compile(ctx, one.Manifest, o)
	if err != nil || d == nil {
		return registry.Registration{Report: report, Outcome: registry.Rejected}, err
	}
	existing := &engine.Existing{Manifest: d.Manifest(), Generation: report.Generation}
	if known := r.ByName[d.Name()]; known != nil {
		existing.Status, existing.Terminating = known.Existing.Status, known.Existing.Terminating
	}
	r.add(d, existing)
	crd := &registry.CRD{Name: d.Name(), Status: existing.Status}
	return registry.Registration{Report: report, CRD: crd, Outcome: registry.Created}, nil
}

// add adds or replaces a CRD and reconciles the status of all CRDs of its group.
func (r *Registry) add(d *engine.Definition, existing *engine.Existing) {
	r.now = r.now.Add(time.Second)
	if r.ByName[d.Name()] == nil {
		r.ByName[d.Name()] = &CRD{created: r.now}
	}
	r.ByName[d.Name()].Definition, r.ByName[d.Name()].Existing = d, existing
	var group []engine.CRDStatus
	for name, c := range r.ByName {
		if c.Definition.Group() == d.Group() {
			names := c.Definition.DesiredStatus()
			group = append(group, engine.CRDStatus{
				Name: name, Created: c.created, Desired: names, Status: names.AddStoredVersion(c.Existing.Status),
			})
		}
	}
	engine.ReconcileStatus(group, d.Name(), r.now)
	for i := range group {
		r.ByName[group[i].Name].Existing.Status = group[i].Status
	}
}

// SetConversion sets the conversion rules of a CRD of this process.
func (r *Registry) SetConversion(
	ctx context.Context, _, name string, change registry.ConversionChange,
) (registry.Registration, error) {
	c := r.ByName[name]
	if c == nil {
		return registry.Registration{}, &registry.Error{Reason: registry.CRDNotFound, Message: fmt.Sprintf(
			"these conversion rules are for %s, but the files have no accepted CRD of this name: add it, or correct crd", name)}
	}
	o := r.options()
	d, _, report, err := registry.CompileConversion(ctx, c.Existing, change.Rules, o, r.tested)
	done := registry.Registration{Report: report, Outcome: registry.Rejected}
	if err != nil || d == nil {
		return done, err
	}
	c.Definition = d
	done.CRD, done.Outcome = &registry.CRD{Name: name, Status: c.Existing.Status}, registry.Updated
	return done, nil
}

// Check checks a CRD without registering it.
func (r *Registry) Check(
	ctx context.Context, _ string, one registry.Submission, _ string,
) (registry.Registration, error) {
	o := r.options()
	o.FieldValidation = one.FieldValidation
	report, err := engine.Check(ctx, one.Manifest, o)
	return registry.Registration{Report: report, CRD: &registry.CRD{}}, err
}

// Compare compares two manifests. It adopts the base.
func (r *Registry) Compare(
	ctx context.Context, _ string, c registry.Comparison, _ string,
) (*registry.Compared, error) {
	options := engine.Options{KubernetesMinor: r.minor}
	diff, err := engine.Compare(ctx, c.Base, c.New, options)
	if err != nil || c.Tries == 0 && !diff.Undecided() && (len(c.Objects) == 0 || !diff.Report.Accepted) {
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
	done := &registry.Compared{Diff: diff}
	if diff.Report.Accepted {
		options = (&Registry{minor: r.minor, ByName: map[string]*CRD{base: {Existing: existing}}}).options()
	}
	d, _, err := engine.Compile(ctx, c.New, options)
	if err != nil || d == nil { // the report of the diff says why
		return done, err
	}
	items := make([]engine.Item, len(c.Objects))
	for i, object := range c.Objects {
		items[i].Object = object
	}
	if c.Tries > 0 || diff.Undecided() {
		done.Counterexamples, err = engine.Counterexamples(ctx, old, d, diff, c.Search())
		if err != nil {
			return nil, err
		}
	}
	if diff.Report.Accepted {
		done.Replayed, err = engine.Replay(ctx, old, d, items, engine.EvaluationOptions{})
	}
	return done, err
}

// View returns the registry itself, because all its CRDs are in memory.
func (r *Registry) View(context.Context, string, string) (registry.View, error) {
	return r, nil
}

var errNoCRD = &registry.Error{Reason: registry.CRDNotFound, Message: "there is no such CRD"}

// Named returns the CRD with a name.
func (r *Registry) Named(_ context.Context, name, _ string) (*engine.Definition, error) {
	if c := r.ByName[name]; c != nil {
		return c.Definition, nil
	}
	return nil, errNoCRD
}

// OfKind returns the CRD of a kind.
func (r *Registry) OfKind(_ context.Context, group, kind, _ string) (*engine.Definition, error) {
	if c := r.ofKind(group, kind); c != nil {
		return c.Definition, nil
	}
	return nil, errNoCRD
}

// ofKind returns the first CRD of a kind.
func (r *Registry) ofKind(group, kind string) (first *CRD) {
	for _, c := range r.ByName {
		if c.Definition.Group() == group && c.Definition.Kind() == kind &&
			(first == nil || c.created.Before(first.created)) {
			first = c
		}
	}
	return first
}

// AllCRDs describes the CRDs. Of the CRDs with the same kind, only the first is established.
func (r *Registry) AllCRDs(established bool) []engine.CRD {
	var all []engine.CRD
	for _, name := range slices.Sorted(maps.Keys(r.ByName)) {
		c := r.ByName[name]
		if !established || r.ofKind(c.Definition.Group(), c.Definition.Kind()) == c {
			all = append(all, c.Definition.CRD(c.Existing.Status))
		}
	}
	return all
}

// DescribeCRD describes a CRD. There is one revision of each.
func (r *Registry) DescribeCRD(name, _ string) (engine.CRD, error) {
	if c := r.ByName[name]; c != nil {
		return c.Definition.CRD(c.Existing.Status), nil
	}
	return engine.CRD{}, errNoCRD
}

// State changes with each registration.
func (r *Registry) State() any { return r.now }
