package api

import (
	"context"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// DiffCrd compares a CRD with a registered or another one.
func (s *registryService) DiffCrd(ctx context.Context, _ *crdevalv1.DiffCrdRequest) (*crdevalv1.DiffCrdResponse, error) {
	return nil, s.faults.call(ctx, unavailable(crdevalv1.Feature_FEATURE_DIFF, "DiffCrd"))
}
