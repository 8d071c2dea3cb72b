package api

import (
	"context"
	"errors"

	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// GetScale returns the subresource scale of an object.
func (s *presentationService) GetScale(ctx context.Context, r *crdevalv1.GetScaleRequest) (*crdevalv1.GetScaleResponse, error) {
	m := &crdevalv1.GetScaleResponse{}
	var err error
	m.Scale, m.Rejection, m.Revision, err = s.scale(ctx, r, r.GetObject(), func(on *subject) ([]byte, error) {
		return on.definition.GetScale(ctx, on.version, on.objects[0])
	})
	return m, err
}

// SetScale returns an object with the replicas of a Scale.
func (s *presentationService) SetScale(ctx context.Context, r *crdevalv1.SetScaleRequest) (*crdevalv1.SetScaleResponse, error) {
	scale := given(r.GetScale())
	if scale.Absent() {
		return nil, invalid("scale", "scale is required: an autoscaling/v1 Scale")
	}
	m := &crdevalv1.SetScaleResponse{}
	var err error
	m.Object, m.Rejection, m.Revision, err = s.scale(ctx, r, r.GetObject(), func(on *subject) ([]byte, error) {
		text, err := on.definition.SetScale(ctx, on.version, on.objects[0], scale)
		if e := (*engine.Error)(nil); errors.As(err, &e) {
			m.Warnings = allValid(e.Warnings)
		}
		return text, err
	})
	return m, err
}

// scale calls the engine for one object. It returns the document, or the rejection of an API server.
func (s *presentationService) scale(
	ctx context.Context, r objectRequest, object *crdevalv1.Document, f func(*subject) ([]byte, error),
) (document *crdevalv1.Document, rejected *crdevalv1.Rejection, revision string, err error) {
	if given(object).Absent() {
		return nil, nil, "", invalid("object", "object is required")
	}
	on, err := s.subject(ctx, r, []*crdevalv1.Document{object})
	if err != nil {
		return nil, nil, "", err
	}
	text, err := f(on)
	switch rejected = rejectionIn(err); {
	case rejected != nil:
		return nil, rejected, on.definition.Revision(), nil
	case err != nil:
		return nil, nil, "", on.addVersion(err)
	}
	return json(text), nil, on.definition.Revision(), s.limits.checkResponse("the document", len(text))
}
