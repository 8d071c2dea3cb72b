package api

import (
	"context"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// Explain answers the documentation of a resource or of a field.
func (s *presentationService) Explain(ctx context.Context, _ *crdevalv1.ExplainRequest) (*crdevalv1.ExplainResponse, error) {
	return nil, s.faults.call(ctx, unavailable(crdevalv1.Feature_FEATURE_PRESENTATION, "Explain"))
}
