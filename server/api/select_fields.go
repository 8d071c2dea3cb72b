package api

import (
	"context"
	"errors"

	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// SelectFields returns the fields by which objects can be selected, and whether a selector matches.
func (s *presentationService) SelectFields(
	ctx context.Context, r *crdevalv1.SelectFieldsRequest,
) (*crdevalv1.SelectFieldsResponse, error) {
	on, err := s.subject(ctx, r, r.GetObjects())
	if err != nil {
		return nil, err
	}
	names, err := on.definition.SelectableFields(on.version)
	if err != nil {
		return nil, on.addVersion(err)
	}
	m := &crdevalv1.SelectFieldsResponse{Selectable: allValid(names), Revision: on.definition.Revision()}
	selector, err := on.definition.ParseFieldSelector(on.version, r.GetSelector())
	if m.Rejection = rejectionIn(err); m.Rejection != nil {
		return m, nil
	}
	if err != nil {
		return nil, err
	}
	var b budget
	b.reset(s.limits.MaxMessageBytes, len(on.objects)*reservedErrorBytes)
	for i := range on.objects {
		fields, err := on.definition.Select(ctx, on.version, on.objects[i])
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		result := &crdevalv1.SelectFieldsResult{}
		if err == nil {
			selected := &crdevalv1.SelectedFields{Fields: selectableFields(fields), Matches: selector.Matches(fields)}
			result.Result = &crdevalv1.SelectFieldsResult_Selected{Selected: selected}
			err = b.take(result)
		}
		if err != nil {
			st := s.faults.status(ctx, listError(err))
			if !b.takeBeyond(st, reservedErrorBytes) {
				st = s.faults.status(ctx, b.exceeded())
			}
			result.Result = &crdevalv1.SelectFieldsResult_Error{Error: st}
		}
		m.Results = append(m.Results, result)
	}
	return m, nil
}

// listError returns the error of an object. A rejection is an error here: it would fail the list that the object is in.
func listError(err error) error {
	var e *engine.Error
	if errors.As(err, &e) && e.Reason == engine.ReasonObjectRejected {
		return invalid("objects", "%s", e.Message)
	}
	return err
}
