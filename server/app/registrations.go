package app

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/server/registry"
	"github.com/crdeval/crdeval/server/registry/directory"
	"github.com/crdeval/crdeval/server/telemetry"
)

// counted is a registry that counts registrations and watches.
type counted struct {
	*registry.Registry
	registered func(registry.Outcome)
	watches    atomic.Int64
}

// Register implements api.Registry.
func (c *counted) Register(
	ctx context.Context, catalog string, manifest engine.Document, p registry.Precondition,
) (registry.Registration, error) {
	done, err := c.Registry.Register(ctx, catalog, manifest, p)
	c.count(done, err)
	return done, err
}

// RegisterAll implements api.Registry and directory.Registry.
func (c *counted) RegisterAll(
	ctx context.Context, catalog string, list []registry.Submission,
) ([]registry.Submitted, string, error) {
	done, token, err := c.Registry.RegisterAll(ctx, catalog, list)
	for _, d := range done {
		c.count(d.Registration, d.Err)
	}
	return done, token, err
}

func (c *counted) count(done registry.Registration, err error) {
	if err != nil {
		c.registered(telemetry.RegistrationFailed)
	} else {
		c.registered(done.Outcome)
	}
}

// Watch implements api.Registry.
func (c *counted) Watch(ctx context.Context, catalog, from string, tell func(registry.Event) error) error {
	c.watches.Add(1)
	defer c.watches.Add(-1)
	return c.Registry.Watch(ctx, catalog, from, tell)
}

// startDirectories loads and watches the directories of --crds. The server is ready after the first load.
func (a *App) startDirectories(ctx context.Context) error {
	if len(a.config.CRDs) == 0 {
		close(a.loaded)
		return nil
	}
	catalog := a.config.CRDsCatalog
	loader, err := directory.New(a.registry, directory.Options{Directories: a.config.CRDs, Catalog: catalog, Log: a.log})
	if err != nil {
		return err
	}
	var e *registry.Error
	_, _, err = a.registry.CreateCatalog(ctx, catalog, 0)
	if err != nil && (!errors.As(err, &e) || e.Reason != registry.CatalogExists) {
		return err
	}
	a.task(func(ctx context.Context) {
		if loader.Load(ctx) == nil {
			close(a.loaded)
			loader.Run(ctx)
		}
	})
	a.telemetry.ObserveDirectories(loader.Stats)
	return nil
}
