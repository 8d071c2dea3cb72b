package audit

import (
	"context"

	"github.com/crdeval/crdeval/server/access"
	"github.com/crdeval/crdeval/server/api"
	"github.com/crdeval/crdeval/server/call"
	"github.com/crdeval/crdeval/server/registry"
)

// Server returns a context for changes that the server makes without a caller. source names the cause, such as --crds.
func Server(ctx context.Context, source string) context.Context {
	return call.With(ctx, &call.Call{Identity: access.Identity{Name: source, Source: access.FromServer}})
}

// Registry logs the changes of a registry. Calls that change nothing are not logged.
type Registry struct {
	api.Registry
	log *Log
}

// Watch returns a registry that logs its changes. l may be nil.
func Watch(r api.Registry, l *Log) api.Registry {
	if l == nil {
		return r
	}
	return Registry{Registry: r, log: l}
}

// record completes and logs an entry.
func (r Registry) record(ctx context.Context, e *Entry, err error) {
	if err != nil {
		e.Outcome, e.Error = OutcomeFailed, err.Error()
	}
	r.log.change(ctx, e)
}

// registered logs the result of a registration.
func (r Registry) registered(ctx context.Context, e *Entry, done *registry.Registration, err error) {
	e.Outcome = string(done.Outcome)
	switch c, report := done.CRD, done.Report; {
	case err == nil && done.Outcome == registry.Unchanged:
		return
	case c != nil:
		e.CRD, e.Revision, e.Etag = c.Name, c.Revision, c.Etag
	case report != nil && e.CRD == "":
		e.CRD = report.Name
	}
	r.record(ctx, e, err)
}

// RegisterAll implements api.Registry.
func (r Registry) RegisterAll(
	ctx context.Context, catalog string, list []registry.Submission,
) ([]registry.Submitted, string, error) {
	done, token, err := r.Registry.RegisterAll(ctx, catalog, list)
	ctx, cancel := context.WithTimeout(ctx, maxWait) // for all lines together
	defer cancel()
	if err != nil {
		r.record(ctx, &Entry{Action: "RegisterCrd", Catalog: catalog}, err)
	}
	for i := range done {
		r.registered(ctx, &Entry{Action: "RegisterCrd", Catalog: catalog}, &done[i].Registration, done[i].Err)
	}
	return done, token, err
}

// SetConversion implements api.Registry.
func (r Registry) SetConversion(
	ctx context.Context, catalog, name string, change registry.ConversionChange,
) (registry.Registration, error) {
	done, err := r.Registry.SetConversion(ctx, catalog, name, change)
	if !change.ValidateOnly {
		r.registered(ctx, &Entry{Action: "SetConversion", Catalog: catalog, CRD: name}, &done, err)
	}
	return done, err
}

// SetStoredVersions implements api.Registry.
func (r Registry) SetStoredVersions(
	ctx context.Context, catalog, name string, versions []string, etag string,
) (registry.Registration, error) {
	done, err := r.Registry.SetStoredVersions(ctx, catalog, name, versions, etag)
	r.registered(ctx, &Entry{Action: "SetStoredVersions", Catalog: catalog, CRD: name}, &done, err)
	return done, err
}

// Outcomes of changes other than registrations.
const (
	outcomeCreated = string(registry.Created)
	outcomeDeleted = "DELETED"
)

// Delete implements api.Registry.
func (r Registry) Delete(ctx context.Context, catalog, name string, p registry.Precondition) (string, error) {
	token, err := r.Registry.Delete(ctx, catalog, name, p)
	r.record(ctx, &Entry{Action: "DeleteCrd", Catalog: catalog, CRD: name, Outcome: outcomeDeleted, Etag: p.Etag}, err)
	return token, err
}

// CreateCatalog implements api.Registry.
func (r Registry) CreateCatalog(ctx context.Context, name, kubernetes string) (registry.Catalog, string, error) {
	c, token, err := r.Registry.CreateCatalog(ctx, name, kubernetes)
	r.record(ctx, &Entry{Action: "CreateCatalog", Catalog: name, Outcome: outcomeCreated, Etag: c.Etag}, err)
	return c, token, err
}

// DeleteCatalog implements api.Registry.
func (r Registry) DeleteCatalog(ctx context.Context, name string, force bool, etag string) (string, int, error) {
	token, crds, err := r.Registry.DeleteCatalog(ctx, name, force, etag)
	r.record(ctx, &Entry{Action: "DeleteCatalog", Catalog: name, Outcome: outcomeDeleted, Etag: etag}, err)
	return token, crds, err
}
