package registry

import (
	"context"
	"crypto/rand"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crdeval/crdeval/engine"
)

// newEtag is a value that no write ever had.
func newEtag() string { return rand.Text()[:16] }

func noCatalog(name string) *Error {
	return &Error{
		Reason: CatalogNotFound, Message: fmt.Sprintf("there is no catalog %q: create it first, or use %q", name, DefaultCatalog),
		Metadata: map[string]string{"catalog": name},
	}
}

func (s *snapshot) catalog(name string) (*catalog, error) {
	if c, ok := s.catalogs.Get(name); ok {
		return c, nil
	}
	return nil, noCatalog(name)
}

func (c *catalog) describe() Catalog {
	return Catalog{Name: c.name, KubernetesMinor: c.record.KubernetesMinor, Etag: c.record.Etag, Created: c.record.Created, CRDs: c.crds.Len()}
}

// CreateCatalog creates an empty catalog and returns the write's token. kubernetesMinor is 0, for a stock latest Kubernetes, or
// engine.OldestMinor to engine.LatestMinor.
func (r *Registry) CreateCatalog(ctx context.Context, name string, kubernetesMinor int) (Catalog, string, error) {
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		return Catalog{}, "", &Error{
			Reason: InvalidArgument, Message: fmt.Sprintf("catalog: %q is no DNS-1123 label: %s", name, problems[0]),
			Metadata: map[string]string{"field": "catalog"},
		}
	}
	if kubernetesMinor != 0 && (kubernetesMinor < engine.OldestMinor || kubernetesMinor > engine.LatestMinor) {
		return Catalog{}, "", &Error{
			Reason:   InvalidArgument,
			Message:  fmt.Sprintf("kubernetes_minor: %d is neither 0 nor %d to %d", kubernetesMinor, engine.OldestMinor, engine.LatestMinor),
			Metadata: map[string]string{"field": "kubernetes_minor"},
		}
	}
	if err := r.newest(ctx); err != nil {
		return Catalog{}, "", err
	}
	w, err := r.write(ctx, func(s *snapshot) (p plan, err error) {
		if _, ok := s.catalogs.Get(name); ok {
			return p, &Error{Reason: CatalogExists, Message: fmt.Sprintf("catalog %q exists already", name), Metadata: map[string]string{"catalog": name}}
		}
		p.expect(catalogKey(name), 0)
		err = p.put(catalogKey(name), catalogRecord{KubernetesMinor: kubernetesMinor, Etag: newEtag(), Created: r.now().UTC()}, nil)
		return p, err
	})
	if err != nil {
		return Catalog{}, "", err
	}
	c, err := w.catalog(name)
	if err != nil {
		return Catalog{}, "", err
	}
	return c.describe(), r.tag.token(w.sequence), nil
}

// Catalog returns one.
func (r *Registry) Catalog(ctx context.Context, name, atLeast string) (Catalog, error) {
	s, err := r.at(ctx, atLeast)
	if err != nil {
		return Catalog{}, err
	}
	c, err := s.catalog(name)
	if err != nil {
		return Catalog{}, err
	}
	return c.describe(), nil
}

// DeleteCatalog removes a catalog, with the CRDs it has only by force; etag is a precondition if not empty. It returns the
// write's token and how many CRDs went with it. The default catalog stays.
func (r *Registry) DeleteCatalog(ctx context.Context, name string, force bool, etag string) (token string, crds int, err error) {
	if name == DefaultCatalog {
		return "", 0, &Error{
			Reason: CatalogProtected, Message: fmt.Sprintf("catalog %q cannot be deleted; delete its CRDs instead", name), Metadata: map[string]string{"catalog": name},
		}
	}
	if err := r.newest(ctx); err != nil {
		return "", 0, err
	}
	w, err := r.write(ctx, func(s *snapshot) (p plan, err error) {
		c, err := s.catalog(name)
		if err != nil {
			return p, err
		}
		if etag != "" && etag != c.record.Etag {
			return p, &Error{
				Reason: EtagMismatch, Message: fmt.Sprintf("catalog %q has etag %q, not %q: somebody wrote in between; read it again", name, c.record.Etag, etag),
				Metadata: map[string]string{"catalog": name, "etag": c.record.Etag},
			}
		}
		if crds = c.crds.Len(); crds > 0 && !force {
			return p, &Error{
				Reason: CatalogNotEmpty, Message: fmt.Sprintf("catalog %q has %d CRDs: delete them first, or delete it with force", name, crds),
				Metadata: map[string]string{"catalog": name, "crds": fmt.Sprint(crds)},
			}
		}
		// Creating a CRD puts the catalog's entry anew and every registration expects it, so nothing can be left behind.
		p.expect(catalogKey(name), c.version)
		p.Delete = []string{catalogKey(name)}
		p.DeletePrefix = []string{crdKey(name, ""), groupKey(name, ""), revisionPrefix + name + "/"}
		return p, nil
	})
	if err != nil {
		return "", 0, err
	}
	return r.tag.token(w.sequence), crds, nil
}
