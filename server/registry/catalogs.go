package registry

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crdeval/crdeval/engine"
)

// newEtag returns a value that no other write has.
func newEtag() string { return rand.Text()[:16] }

// describe describes a catalog.
func (r *Registry) describe(c *catalog) Catalog {
	return Catalog{
		Name: c.name, Kubernetes: c.record.Kubernetes, Etag: c.record.Etag, Created: c.record.Created,
		CRDs: c.counts.CRDs, Revisions: c.counts.Revisions, Bytes: c.counts.ManifestBytes, Watches: r.watches.of(c.name),
		Quota: r.Quota(c.name),
	}
}

// Catalog returns a catalog.
func (r *Registry) Catalog(ctx context.Context, name, atLeast string) (Catalog, error) {
	_, c, err := r.catalogAt(ctx, name, atLeast)
	if err != nil {
		return Catalog{}, err
	}
	return r.describe(c), nil
}

// CreateCatalog creates an empty catalog and returns the token of the write. kubernetes is that of
// engine.Options.
func (r *Registry) CreateCatalog(ctx context.Context, name, kubernetes string) (Catalog, string, error) {
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		return Catalog{}, "", errorf(InvalidArgument, metadata{"field": "catalog"},
			"catalog: %q is not a DNS-1123 label: %s", name, problems[0])
	}
	if err := (engine.Options{Kubernetes: kubernetes}).Check(); err != nil {
		return Catalog{}, "", errorf(InvalidArgument, metadata{"field": "kubernetes"}, "%v", err)
	}
	w, err := r.writeLatest(ctx, func(s *snapshot) (p proposal, err error) {
		if _, ok := s.catalogs.Get(name); ok {
			return p, errorf(CatalogExists, metadata{"catalog": name}, "catalog %q already exists", name)
		}
		if all := s.allCounts(); r.MaxBytes > 0 && all.memory()+catalogMemory > r.MaxBytes {
			return p, overCapacity(all.memory(), r.MaxBytes)
		}
		p.expect(catalogKey(name), 0)
		record := catalogRecord{Kubernetes: kubernetes, Etag: newEtag(), Created: r.Now().UTC()}
		return p, p.put(catalogKey(name), record, nil)
	})
	if err != nil {
		return Catalog{}, "", err
	}
	c, err := w.catalog(name)
	if err != nil {
		return Catalog{}, "", err
	}
	return r.describe(c), r.tag.token(w.sequence), nil
}

// DeleteCatalog removes a catalog, and its CRDs if force is set. If etag is not empty, the catalog must have it. It
// returns the token of the write and the number of deleted CRDs. The default catalog cannot be deleted.
func (r *Registry) DeleteCatalog(
	ctx context.Context, name string, force bool, etag string,
) (token string, crds int, err error) {
	m := metadata{"catalog": name}
	if name == DefaultCatalog {
		return "", 0, errorf(CatalogProtected, m, "catalog %q cannot be deleted; delete its CRDs instead", name)
	}
	w, err := r.writeLatest(ctx, func(s *snapshot) (p proposal, err error) {
		c, err := s.catalog(name)
		if err != nil {
			return p, err
		}
		if etag != "" && etag != c.record.Etag {
			return p, errorf(EtagMismatch, metadata{"catalog": name, "etag": c.record.Etag},
				"catalog %q has etag %q, not %q: another write changed it; read it again", name, c.record.Etag, etag)
		}
		if crds = c.crds.Len(); crds > 0 && !force {
			return p, errorf(CatalogNotEmpty, metadata{"catalog": name, "crds": fmt.Sprint(crds)},
				"catalog %q has %d CRDs: delete them first, or use force", name, crds)
		}
		// Each registration puts the catalog's entry, so no CRD is left without its catalog.
		p.expect(catalogKey(name), c.version)
		p.Delete = []string{catalogKey(name)}
		p.DeletePrefix = []string{crdKey(name, ""), revisionPrefix + name + "/"}
		return p, nil
	})
	if err != nil {
		return "", 0, err
	}
	return r.tag.token(w.sequence), crds, nil
}

// CRD returns a CRD with its manifest, conversion rules and status. revision selects a revision of the manifest; "" is the current one.
func (r *Registry) CRD(ctx context.Context, catalog, name, revision, atLeast string) (*CRD, error) {
	_, c, err := r.catalogAt(ctx, catalog, atLeast)
	if err != nil {
		return nil, err
	}
	d, err := c.crd(name)
	if err != nil {
		return nil, err
	}
	rev, err := d.revisionAt(revision)
	if err != nil {
		return nil, err
	}
	return d.describeWithManifest(rev)
}

// describe describes a CRD at one of its revisions, without manifest, conversion rules and status JSON.
func (c *crd) describe(rev *revision) *CRD {
	out := &CRD{
		Catalog: c.catalog, Name: c.name, Revision: rev.digest, Etag: c.record.Etag, Generation: c.record.Generation,
		Created: c.record.Created, Updated: c.record.Updated, Scope: rev.summary.Scope, Versions: rev.summary.Versions,
		Desired: rev.summary.Desired, Status: *c.record.Status, Established: c.established(),
		NotOlderThan: c.record.Fence, AsStored: c.record.Metadata != nil, Metadata: c.metadata(),
	}
	out.Status.Conditions = slices.Clone(out.Status.Conditions)
	return out
}

func (c *crd) describeWithManifest(rev *revision) (*CRD, error) {
	out := c.describe(rev)
	var err error
	if out.Manifest, out.Conversion, err = rev.unpack(c); err != nil {
		return nil, err
	}
	if out.StatusJSON, err = json.Marshal(c.record.Status); err != nil {
		return nil, fmt.Errorf("encoding the status of CRD %q in catalog %q: %w", c.name, c.catalog, err)
	}
	return out, nil
}
