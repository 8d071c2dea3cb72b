package api

import (
	"context"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/server/registry"
)

// Registry is what the handlers need of a registry. Its errors are *registry.Error, *engine.Error for manifests that cannot
// be judged, and those of the context; others are faults. An atLeast that is not empty is a token: the call waits, within the
// context's deadline, until the registry has seen the write that it names.
type Registry interface {
	// Register judges a manifest and, if it is accepted, makes it the current revision of its name.
	Register(ctx context.Context, catalog string, manifest engine.Document, p registry.Precondition) (registry.Registration, error)
	// RegisterAll is Register for each of a list, in its order, with an answer for each at its index. It returns the token of the last write.
	RegisterAll(ctx context.Context, catalog string, list []registry.Submission) (done []registry.Submitted, token string, err error)
	// SetStoredVersions replaces status.storedVersions; etag is a precondition if not empty. It returns the CRD and the write's token.
	SetStoredVersions(ctx context.Context, catalog, name string, versions []string, etag string) (c *registry.CRD, token string, err error)
	// Watch tells of what is registered and, until ctx ends or tell fails, of every change.
	Watch(ctx context.Context, catalog, from string, tell func(registry.Event) error) error
	// Compare says what would change if one CRD replaced another, and how objects would fare.
	Compare(ctx context.Context, catalog string, c registry.Comparison, atLeast string) (*registry.Compared, error)
	// Check judges a manifest as Register does and stores nothing.
	Check(ctx context.Context, catalog string, manifest engine.Document, atLeast string) (registry.Registration, error)
	// CRD returns one, at a revision that is kept or, if revision is empty, at the current one, with its manifest.
	CRD(ctx context.Context, catalog, name, revision, atLeast string) (*registry.CRD, error)
	// CRDs lists those of a catalog, by name.
	CRDs(ctx context.Context, catalog string, p registry.Page, atLeast string) (registry.CRDPage, error)
	// Delete removes a CRD with all its revisions; etag is a precondition if not empty. It returns the write's token.
	Delete(ctx context.Context, catalog, name, etag string) (token string, err error)

	// CreateCatalog creates an empty catalog and returns the write's token.
	CreateCatalog(ctx context.Context, name string, kubernetesMinor int) (c registry.Catalog, token string, err error)
	// Catalog returns one.
	Catalog(ctx context.Context, name, atLeast string) (registry.Catalog, error)
	// Catalogs lists them, by name.
	Catalogs(ctx context.Context, p registry.Page, atLeast string) (registry.CatalogPage, error)
	// DeleteCatalog removes a catalog, with the CRDs it has only by force; etag is a precondition if not empty. It returns the
	// write's token and how many CRDs went with it.
	DeleteCatalog(ctx context.Context, name string, force bool, etag string) (token string, crds int, err error)

	// View returns a catalog as it is now, for the evaluation of one batch.
	View(ctx context.Context, catalog, atLeast string) (registry.View, error)
	// ViewWith is View with CRDs on top, for that view alone.
	ViewWith(ctx context.Context, catalog, atLeast string, overlay []engine.Document) (registry.View, error)
}
