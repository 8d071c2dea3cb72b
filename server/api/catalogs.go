package api

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/registry"
)

// CreateCatalog creates an empty catalog.
func (s *registryService) CreateCatalog(ctx context.Context, r *crdevalv1.CreateCatalogRequest) (*crdevalv1.CreateCatalogResponse, error) {
	if err := needed(field{"catalog", r.GetCatalog()}); err != nil {
		return nil, s.faults.call(ctx, err)
	}
	c, token, err := s.registry.CreateCatalog(ctx, r.GetCatalog(), int(r.GetKubernetesMinor()))
	if err != nil {
		return nil, s.faults.call(ctx, err)
	}
	return &crdevalv1.CreateCatalogResponse{Catalog: catalog(c), Token: token}, nil
}

// GetCatalog answers a catalog.
func (s *registryService) GetCatalog(ctx context.Context, r *crdevalv1.GetCatalogRequest) (*crdevalv1.GetCatalogResponse, error) {
	if err := needed(field{"catalog", r.GetCatalog()}); err != nil {
		return nil, s.faults.call(ctx, err)
	}
	c, err := s.registry.Catalog(ctx, r.GetCatalog(), r.GetAtLeast())
	if err != nil {
		return nil, s.faults.call(ctx, err)
	}
	return &crdevalv1.GetCatalogResponse{Catalog: catalog(c)}, nil
}

// ListCatalogs answers a page of the catalogs.
func (s *registryService) ListCatalogs(ctx context.Context, r *crdevalv1.ListCatalogsRequest) (*crdevalv1.ListCatalogsResponse, error) {
	size, err := s.limits.pageSize(r.GetPageSize())
	if err != nil {
		return nil, s.faults.call(ctx, err)
	}
	page, err := s.registry.Catalogs(ctx, registry.Page{Size: size, Token: r.GetPageToken()}, r.GetAtLeast())
	if err != nil {
		return nil, s.faults.call(ctx, err)
	}
	answer := &crdevalv1.ListCatalogsResponse{NextPageToken: page.Next, Token: page.Token, Catalogs: make([]*crdevalv1.Catalog, len(page.Catalogs))}
	for i := range page.Catalogs {
		answer.Catalogs[i] = catalog(page.Catalogs[i])
	}
	return answer, nil
}

// DeleteCatalog removes a catalog.
func (s *registryService) DeleteCatalog(ctx context.Context, r *crdevalv1.DeleteCatalogRequest) (*crdevalv1.DeleteCatalogResponse, error) {
	if err := needed(field{"catalog", r.GetCatalog()}); err != nil {
		return nil, s.faults.call(ctx, err)
	}
	token, crds, err := s.registry.DeleteCatalog(ctx, r.GetCatalog(), r.GetForce(), r.GetEtag())
	if err != nil {
		return nil, s.faults.call(ctx, err)
	}
	return &crdevalv1.DeleteCatalogResponse{Token: token, DeletedCrds: int32(crds)}, nil
}

func catalog(c registry.Catalog) *crdevalv1.Catalog {
	return &crdevalv1.Catalog{
		Name: c.Name, KubernetesMinor: int32(c.KubernetesMinor), Etag: c.Etag, CreateTime: timestamp(c.Created), CrdCount: int32(c.CRDs),
	}
}

// timestamp is absent for the zero time.
func timestamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}
