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
	if why := r.unseen(); why != "" {
		return r.allowUnseen(why), nil
	}
	pruned, answer, err := r.prune(ctx, to, catalog)
	if answer != nil || err != nil {
		return answer, err
	}
	warnings, validation := []string(nil), r.fieldValidation()
	if len(pruned.GetChanges().GetPruned()) > 0 && validation != "Ignore" {
		// Validate knows which of them an API server reports, and its texts.
		judged, err := r.judge(ctx, to, catalog)
		switch {
		case err != nil:
			return nil, err
		case judged.Outcome == Denied && validation == "Strict" && judged.inner.Result.Details == nil:
			return judged, nil // rejected when decoded, and not for a violation
		}
		warnings = judged.inner.Warnings
	}
	object := r.inner.Object.Raw
	if pruned.GetChanged() {
		object = pruned.GetObject().GetJson()
	}
	defaulted, answer, err := r.fillIn(ctx, to, catalog, object)
	if answer != nil || err != nil {
		return answer, err
	}
	if defaulted.GetChanged() {
		object = defaulted.GetObject().GetJson()
	}
	answer = r.allow(defaulted.GetRevision(), warnings)
	if !pruned.GetChanged() && !defaulted.GetChanged() {
		return answer, nil
	}
	patch, err := difference(r.inner.Object.Raw, object)
	if err != nil {
		return nil, err
	}
	if patch != nil {
		answer.patch(patch)
	}
	return answer, nil
}

// changed returns the options of calls whose object is needed only if it changed.
func changed() *crdevalv1.EvaluationOptions {
	return &crdevalv1.EvaluationOptions{View: crdevalv1.ObjectView_OBJECT_VIEW_CHANGED}
}

// prune prunes the object. It returns an answer instead of a result if the request is decided.
func (r *Request) prune(ctx context.Context, to Evaluator, catalog string) (*crdevalv1.TransformedObject, *Answer, error) {
	answer, err := to.Prune(ctx, &crdevalv1.PruneRequest{Catalog: catalog, Items: []*crdevalv1.EvaluationItem{r.item(false)}, Options: changed()})
	if err != nil {
		return nil, nil, err
	}
	return r.transformed(catalog, answer.GetResults())
}

// fillIn drops the nulls of an object and sets its defaults. It returns as prune does.
func (r *Request) fillIn(ctx context.Context, to Evaluator, catalog string, object []byte) (*crdevalv1.TransformedObject, *Answer, error) {
	item := r.item(false)
	item.Object = document(object)
	answer, err := to.Default(ctx, &crdevalv1.DefaultRequest{Catalog: catalog, Items: []*crdevalv1.EvaluationItem{item}, Options: changed()})
	if err != nil {
		return nil, nil, err
	}
	return r.transformed(catalog, answer.GetResults())
}

// transformed returns the result of the only item, or the answer that decides the request.
func (r *Request) transformed(catalog string, results []*crdevalv1.TransformResult) (*crdevalv1.TransformedObject, *Answer, error) {
	if len(results) != 1 {
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
