package api

import (
	"context"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// Admit answers the verdict on each write, with what is answered and what is stored.
func (s *evaluationService) Admit(ctx context.Context, _ *crdevalv1.AdmitRequest) (*crdevalv1.AdmitResponse, error) {
	return nil, s.faults.call(ctx, unavailable(crdevalv1.Feature_FEATURE_ADMIT, "Admit"))
}
