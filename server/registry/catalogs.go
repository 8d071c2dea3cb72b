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
	if c, ok := s.catalogs[name]; ok {
		return c, nil
	}
	return nil, noCatalog(name)
}

func (c *catalog) describe() Catalog {
	return Catalog{Name: c.name, KubernetesMinor: c.record.KubernetesMinor, Etag: c.record.Etag, Created: c.record.Created, CRDs: len(c.crds)}
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
	s, err := r.write(ctx, func(s *snapshot) (Transaction, error) {
		if s.catalogs[name] != nil {
			return Transaction{}, &Error{
				Reason: CatalogExists, Message: fmt.Sprintf("catalog %q exists already", name), Metadata: map[string]string{"catalog": name},
			}
		}
		value, err := encodeRecord(catalogRecord{KubernetesMinor: kubernetesMinor, Etag: newEtag(), Created: r.now().UTC()}, nil)
		return Transaction{
			Expect: []Expectation{{Key: catalogKey(name)}},
			Put:    []Entry{{Key: catalogKey(name), Value: value}},
		}, err
	})
	if err != nil {
		return Catalog{}, "", err
	}
	c, err := s.catalog(name)
	if err != nil {
		return Catalog{}, "", err // another replica deleted it in the same moment
	}
	return c.describe(), r.tag.token(s.sequence), nil
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
	s, err := r.write(ctx, func(s *snapshot) (Transaction, error) {
		c, err := s.catalog(name)
		if err != nil {
			return Transaction{}, err
		}
		if etag != "" && etag != c.record.Etag {
			return Transaction{}, &Error{
				Reason: EtagMismatch, Message: fmt.Sprintf("catalog %q has etag %q, not %q: somebody wrote in between; read it again", name, c.record.Etag, etag),
				Metadata: map[string]string{"catalog": name, "etag": c.record.Etag},
			}
		}
		if crds = len(c.crds); crds > 0 && !force {
			return Transaction{}, &Error{
				Reason: CatalogNotEmpty, Message: fmt.Sprintf("catalog %q has %d CRDs: delete them first, or delete it with force", name, crds),
				Metadata: map[string]string{"catalog": name, "crds": fmt.Sprint(crds)},
			}
		}
		t := Transaction{Expect: []Expectation{{Key: catalogKey(name), Version: c.version}}, Delete: []string{catalogKey(name)}}
		for _, d := range c.crds {
			// Expected as seen: a revision registered elsewhere in between must not be left behind.
			t.Expect = append(t.Expect, Expectation{Key: crdKey(name, d.name), Version: d.version})
			t.Delete = append(t.Delete, d.keys()...)
		}
		return t, nil
	})
	if err != nil {
		return "", 0, err
	}
	return r.tag.token(s.sequence), crds, nil
}

// keys are those of all entries that a CRD consists of.
func (c *crd) keys() []string {
	keys := []string{crdKey(c.catalog, c.name)}
	for digest := range c.revisions {
		keys = append(keys, revisionKey(c.catalog, c.name, digest))
	}
	return keys
}
