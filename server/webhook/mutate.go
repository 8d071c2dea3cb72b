package webhook

import (
	"context"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// Mutate answers with the patch that an API server with the CRD of the catalog would apply to the object, at the version of the
// request: metadata coerced, unknown fields pruned, nulls of fields that are not nullable dropped, defaults set. It does not
// validate the object: other webhooks may still change it.
//
// Pruned fields become warnings or, with strict field validation, a rejection. An error is a status of the evaluation service.
func Mutate(ctx context.Context, to Evaluator, catalog string, r *Request) (*Answer, error) {
	if why := r.skipReason(); why != "" {
		return r.allowSkipped(why), nil
	}
	changed := &crdevalv1.EvaluationOptions{View: crdevalv1.ObjectView_OBJECT_VIEW_CHANGED}
	response, err := to.Prune(ctx, &crdevalv1.PruneRequest{Catalog: catalog, Items: []*crdevalv1.EvaluationItem{r.item(false)}, Options: changed})
	pruned, answer, err := r.transformed(catalog, response.GetResults(), err)
	if answer != nil || err != nil {
		return answer, err
	}
	warnings, validation := []string(nil), r.fieldValidation()
	if len(pruned.GetChanges().GetPruned()) > 0 && validation != "Ignore" {
		// Validate knows which of them an API server reports, and its texts.
		validated, err := r.validate(ctx, to, catalog)
		switch {
		case err != nil:
			return nil, err
		case validated.Outcome == Denied && validation == "Strict" && validated.inner.Result.Details == nil:
			return validated, nil // rejected when decoded, and not for a violation
		}
		warnings = validated.inner.Warnings
	}
	item := r.item(false)
	if pruned.GetChanged() {
		item.Object = pruned.GetObject()
	}
	// Default drops nulls as well.
	filled, err := to.Default(ctx, &crdevalv1.DefaultRequest{Catalog: catalog, Items: []*crdevalv1.EvaluationItem{item}, Options: changed})
	defaulted, answer, err := r.transformed(catalog, filled.GetResults(), err)
	if answer != nil || err != nil {
		return answer, err
	}
	object := item.GetObject()
	if defaulted.GetChanged() {
		object = defaulted.GetObject()
	}
	answer = r.allow(defaulted.GetRevision(), warnings)
	if !pruned.GetChanged() && !defaulted.GetChanged() {
		return answer, nil
	}
	patch, err := difference(r.inner.Object.Raw, object.GetJson())
	if err != nil {
		return nil, err
	}
	if patch != nil {
		answer.patch(patch)
	}
	return answer, nil
}

// transformed returns the result of the only item of a call, or the answer that decides the request.
func (r *Request) transformed(catalog string, results []*crdevalv1.TransformResult, err error) (*crdevalv1.TransformedObject, *Answer, error) {
	switch {
	case err != nil:
		return nil, nil, err
	case len(results) != 1:
		return nil, nil, errUnaligned
	}
	if failed := results[0].GetError(); failed != nil {
		answer, err := r.failed(catalog, failed)
		return nil, answer, err
	}
	t := results[0].GetTransformed()
	if why := t.GetRejection(); why != nil {
		return nil, r.deny(r.rejection(why, nil), t.GetRevision(), nil), nil
	}
	return t, nil, nil
}
