package webhook

import (
	"context"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// Mutate answers what the API server would make of the object by the CRD of the catalog, at the version that it was sent at: metadata coerced, unknown
// fields pruned, nulls of fields that are not nullable dropped, defaults filled in. The patch turns the request's object into exactly that; there is none where
// nothing changes. Whether the object is valid is not asked: other webhooks may still change it.
//
// What was pruned is told in warnings or, where the client asked for strict field validation, refused as an API server does. An error is a status of the evaluation service.
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
		// Which of them an API server reports, and in which words, is Validate's to say.
		judged, err := r.judge(ctx, to, catalog)
		switch {
		case err != nil:
			return nil, err
		case judged.Outcome == Denied && validation == "Strict" && judged.inner.Result.Details == nil:
			return judged, nil // not for what is found in the object but for what cannot be decoded into it
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

// changed are the options of calls whose object is of interest only if it is another than the one sent.
func changed() *crdevalv1.EvaluationOptions {
	return &crdevalv1.EvaluationOptions{View: crdevalv1.ObjectView_OBJECT_VIEW_CHANGED}
}

// prune has the object pruned. Instead of a result there may be an answer.
func (r *Request) prune(ctx context.Context, to Evaluator, catalog string) (*crdevalv1.TransformedObject, *Answer, error) {
	answer, err := to.Prune(ctx, &crdevalv1.PruneRequest{Catalog: catalog, Items: []*crdevalv1.EvaluationItem{r.item(false)}, Options: changed()})
	if err != nil {
		return nil, nil, err
	}
	return r.transformed(catalog, answer.GetResults())
}

// fillIn has an object's nulls dropped and its defaults filled in, likewise.
func (r *Request) fillIn(ctx context.Context, to Evaluator, catalog string, object []byte) (*crdevalv1.TransformedObject, *Answer, error) {
	item := r.item(false)
	item.Object = document(object)
	answer, err := to.Default(ctx, &crdevalv1.DefaultRequest{Catalog: catalog, Items: []*crdevalv1.EvaluationItem{item}, Options: changed()})
	if err != nil {
		return nil, nil, err
	}
	return r.transformed(catalog, answer.GetResults())
}

// transformed is the result of the one item that was sent, or the answer that ends the matter.
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
		return nil, r.deny(r.refusal(why, nil), t.GetRevision(), nil), nil
	}
	return t, nil, nil
}
