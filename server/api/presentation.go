package api

import (
	"context"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// presentationService shows objects and catalogs as an API server does.
type presentationService struct {
	crdevalv1.UnsafePresentationServiceServer
	registry Registry
	limits   Limits
	faults   faults
}

// Table answers objects as a table.
func (s *presentationService) Table(ctx context.Context, _ *crdevalv1.TableRequest) (*crdevalv1.TableResponse, error) {
	return nil, s.absent(ctx, "Table")
}

// SelectFields answers what objects are selected by.
func (s *presentationService) SelectFields(ctx context.Context, _ *crdevalv1.SelectFieldsRequest) (*crdevalv1.SelectFieldsResponse, error) {
	return nil, s.absent(ctx, "SelectFields")
}

// GetScale answers the scale of an object.
func (s *presentationService) GetScale(ctx context.Context, _ *crdevalv1.GetScaleRequest) (*crdevalv1.GetScaleResponse, error) {
	return nil, s.absent(ctx, "GetScale")
}

// SetScale answers an object with the replicas of a scale.
func (s *presentationService) SetScale(ctx context.Context, _ *crdevalv1.SetScaleRequest) (*crdevalv1.SetScaleResponse, error) {
	return nil, s.absent(ctx, "SetScale")
}

// GetOpenApi answers an OpenAPI document of a catalog.
func (s *presentationService) GetOpenApi(ctx context.Context, _ *crdevalv1.GetOpenApiRequest) (*crdevalv1.GetOpenApiResponse, error) {
	return nil, s.absent(ctx, "GetOpenApi")
}

// Discover answers the resources of a catalog.
func (s *presentationService) Discover(ctx context.Context, _ *crdevalv1.DiscoverRequest) (*crdevalv1.DiscoverResponse, error) {
	return nil, s.absent(ctx, "Discover")
}

// GetFieldManagement answers what server-side apply has to know of a CRD.
func (s *presentationService) GetFieldManagement(ctx context.Context, _ *crdevalv1.GetFieldManagementRequest) (*crdevalv1.GetFieldManagementResponse, error) {
	return nil, s.absent(ctx, "GetFieldManagement")
}

// Explain answers the documentation of a resource or of a field.
func (s *presentationService) Explain(ctx context.Context, _ *crdevalv1.ExplainRequest) (*crdevalv1.ExplainResponse, error) {
	return nil, s.absent(ctx, "Explain")
}

func (s *presentationService) absent(ctx context.Context, call string) error {
	return s.faults.call(ctx, unavailable(crdevalv1.Feature_FEATURE_PRESENTATION, call))
}
