package api

import (
	"context"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/server/registry"
)

// Registry is the part of a registry that the handlers use. It returns *registry.Error, *engine.Error for manifests that cannot be
// evaluated, errors of contexts, and others for internal errors. atLeast is a token or empty: the call waits until the registry has
// seen the write with that token.
type Registry interface {
	// Register registers a manifest if it is accepted.
	Register(ctx context.Context, catalog string, manifest engine.Document, p registry.Precondition) (registry.Registration, error)
	// RegisterAll registers each manifest in order. It returns one result for each, and the token of the last write.
	RegisterAll(ctx context.Context, catalog string, list []registry.Submission) (done []registry.Submitted, token string, err error)
	// SetStoredVersions replaces status.storedVersions. A non-empty etag is a precondition.
	SetStoredVersions(ctx context.Context, catalog, name string, versions []string, etag string) (c *registry.CRD, token string, err error)
	// Watch calls f with the registered CRDs and with each change, until ctx ends or f fails. A non-empty token from starts with the changes
	// after it.
	Watch(ctx context.Context, catalog, from string, f func(registry.Event) error) error
	// Compare returns the differences between two CRDs and their effects on objects.
	Compare(ctx context.Context, catalog string, c registry.Comparison, atLeast string) (*registry.Compared, error)
	// Check returns what Register would return, and stores nothing.
	Check(ctx context.Context, catalog string, manifest engine.Document, atLeast string) (registry.Registration, error)
	// CRD returns a CRD with its manifest. An empty revision is the current one.
	CRD(ctx context.Context, catalog, name, revision, atLeast string) (*registry.CRD, error)
	// CRDs returns a page of the CRDs of a catalog, by name.
	CRDs(ctx context.Context, catalog string, p registry.Page, atLeast string) (registry.CRDPage, error)
	// Delete removes a CRD with all its revisions. A non-empty etag is a precondition.
	Delete(ctx context.Context, catalog, name, etag string) (token string, err error)

	// CreateCatalog creates an empty catalog.
	CreateCatalog(ctx context.Context, name string, kubernetesMinor int) (c registry.Catalog, token string, err error)
	// Catalog returns a catalog.
	Catalog(ctx context.Context, name, atLeast string) (registry.Catalog, error)
	// Catalogs returns a page of the catalogs, by name.
	Catalogs(ctx context.Context, p registry.Page, atLeast string) (registry.CatalogPage, error)
	// DeleteCatalog removes a catalog and, only if force is set, the CRDs in it. It returns their number. A non-empty etag is a precondition.
	DeleteCatalog(ctx context.Context, name string, force bool, etag string) (token string, crds int, err error)

	// View returns the current state of a catalog.
	View(ctx context.Context, catalog, atLeast string) (registry.View, error)
	// ViewWith returns the current state of a catalog with inline CRDs.
	ViewWith(ctx context.Context, catalog, atLeast string, inlineCrds []engine.Document) (registry.View, error)
}
