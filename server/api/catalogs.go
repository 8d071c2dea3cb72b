package api

import (
	"context"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/registry"
)

// CreateCatalog creates an empty catalog.
func (s *registryService) CreateCatalog(
	ctx context.Context, r *crdevalv1.CreateCatalogRequest,
) (*crdevalv1.CreateCatalogResponse, error) {
	c, token, err := s.registry.CreateCatalog(ctx, r.GetCatalog(), int(r.GetKubernetesMinor()))
	return &crdevalv1.CreateCatalogResponse{Catalog: catalog(&c), Token: token}, err
}

// GetCatalog returns a catalog.
func (s *registryService) GetCatalog(ctx context.Context, r *crdevalv1.GetCatalogRequest) (*crdevalv1.GetCatalogResponse, error) {
	c, err := s.registry.Catalog(ctx, r.GetCatalog(), r.GetAtLeast())
	return &crdevalv1.GetCatalogResponse{Catalog: catalog(&c)}, err
}

// ListCatalogs returns a page of the catalogs.
func (s *registryService) ListCatalogs(
	ctx context.Context, r *crdevalv1.ListCatalogsRequest,
) (*crdevalv1.ListCatalogsResponse, error) {
	size, err := s.limits.pageSize(r.GetPageSize())
	if err != nil {
		return nil, err
	}
	page, err := s.registry.Catalogs(ctx, registry.Page{Size: size, Token: r.GetPageToken()}, r.GetAtLeast())
	if err != nil {
		return nil, err
	}
	return &crdevalv1.ListCatalogsResponse{
		NextPageToken: page.Next, Token: page.Token, Catalogs: convertAll(page.Catalogs, catalog),
	}, nil
}

// DeleteCatalog removes a catalog.
func (s *registryService) DeleteCatalog(
	ctx context.Context, r *crdevalv1.DeleteCatalogRequest,
) (*crdevalv1.DeleteCatalogResponse, error) {
	token, crds, err := s.registry.DeleteCatalog(ctx, r.GetCatalog(), r.GetForce(), r.GetEtag())
	return &crdevalv1.DeleteCatalogResponse{Token: token, DeletedCrds: int32(crds)}, err
}
