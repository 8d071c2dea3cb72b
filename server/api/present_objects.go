package api

import (
	"context"
	"errors"

	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// SelectFields answers what objects are selected by.
func (s *presentationService) SelectFields(ctx context.Context, r *crdevalv1.SelectFieldsRequest) (*crdevalv1.SelectFieldsResponse, error) {
	answer, err := s.selectFields(ctx, r)
	return answer, s.faults.call(ctx, err)
}

func (s *presentationService) selectFields(ctx context.Context, r *crdevalv1.SelectFieldsRequest) (*crdevalv1.SelectFieldsResponse, error) {
	objects, err := s.documents(r.GetObjects())
	if err != nil {
		return nil, err
	}
	on, err := s.subjectOf(ctx, r, objects)
	if err != nil {
		return nil, err
	}
	names, err := on.definition.SelectableFields(on.version)
	if err != nil {
		return nil, on.aboutVersion(r.GetCatalog(), err)
	}
	answer := &crdevalv1.SelectFieldsResponse{Selectable: allValid(names), Revision: on.definition.Revision()}
	selector, err := on.definition.ParseFieldSelector(on.version, r.GetSelector())
	if err != nil {
		if answer.Rejection = refusedBy(err); answer.Rejection != nil {
			return answer, nil
		}
		return nil, err
	}
	var room budget
	room.reset(s.limits.MaxMessageBytes, len(objects))
	answer.Results = make([]*crdevalv1.SelectFieldsResult, len(objects))
	for i := range objects {
		fields, err := on.definition.Select(ctx, on.version, objects[i])
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		result := &crdevalv1.SelectFieldsResult{}
		if err == nil {
			result.Result = &crdevalv1.SelectFieldsResult_Selected{
				Selected: &crdevalv1.SelectedFields{Fields: selectable(fields), Matches: selector.Matches(fields)},
			}
			err = room.take(result)
		}
		if err != nil {
			st := s.faults.status(ctx, unlisted(err))
			if !room.takeError(st) {
				st = s.faults.status(ctx, room.none())
			}
			result.Result = &crdevalv1.SelectFieldsResult_Error{Error: st}
		}
		answer.Results[i] = result
	}
	return answer, nil
}

// unlisted is the error of an object, where an API server's refusal is one too: it would fail the list that the object is in.
func unlisted(err error) error {
	var e *engine.Error
	if errors.As(err, &e) && e.Reason == engine.ReasonObjectRejected {
		return invalid("objects", "%s", e.Message)
	}
	return err
}
