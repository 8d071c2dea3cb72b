package api

import (
	"context"
	"errors"

	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// GetScale answers the scale of an object.
func (s *presentationService) GetScale(ctx context.Context, r *crdevalv1.GetScaleRequest) (*crdevalv1.GetScaleResponse, error) {
	answer := &crdevalv1.GetScaleResponse{}
	var err error
	answer.Scale, answer.Rejection, answer.Revision, err = s.ofObject(ctx, r, r.GetObject(), func(on *subject, object engine.Document) ([]byte, error) {
		return on.definition.GetScale(ctx, on.version, object)
	})
	if err != nil {
		return nil, s.faults.call(ctx, err)
	}
	return answer, nil
}

// SetScale answers an object with the replicas of a scale.
func (s *presentationService) SetScale(ctx context.Context, r *crdevalv1.SetScaleRequest) (*crdevalv1.SetScaleResponse, error) {
	scale := given(r.GetScale())
	if scale.Absent() {
		return nil, s.faults.call(ctx, invalid("scale", "scale is required: an autoscaling/v1 Scale"))
	}
	answer := &crdevalv1.SetScaleResponse{}
	var err error
	answer.Object, answer.Rejection, answer.Revision, err = s.ofObject(ctx, r, r.GetObject(), func(on *subject, object engine.Document) ([]byte, error) {
		text, err := on.definition.SetScale(ctx, on.version, object, scale)
		var refused *engine.Error
		if errors.As(err, &refused) {
			answer.Warnings = allValid(refused.Warnings)
		}
		return text, err
	})
	if err != nil {
		return nil, s.faults.call(ctx, err)
	}
	return answer, nil
}

// ofObject answers what a call of the engine makes of one object: a document, or what an API server would answer instead.
func (s *presentationService) ofObject(
	ctx context.Context, r about, object *crdevalv1.Document, f func(*subject, engine.Document) ([]byte, error),
) (document *crdevalv1.Document, instead *crdevalv1.Rejection, revision string, err error) {
	given := given(object)
	if given.Absent() {
		return nil, nil, "", invalid("object", "object is required")
	}
	on, err := s.subjectOf(ctx, r, []engine.Document{given})
	if err != nil {
		return nil, nil, "", err
	}
	text, err := f(on, given)
	switch instead = refusedBy(err); {
	case instead != nil:
		return nil, instead, on.definition.Revision(), nil
	case err != nil:
		return nil, nil, "", on.aboutVersion(r.GetCatalog(), err)
	}
	return json(text), nil, on.definition.Revision(), s.fits("the answer", len(text))
}
