package webhook

import (
	"context"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// Mutate answers with the patch that an API server with the CRD of the catalog would apply to the object before mutating admission:
// metadata coerced, unknown fields pruned, nulls of fields that are not nullable dropped, defaults set. It does not validate the
// object: other webhooks may still change it.
//
// Pruned fields become warnings or, with strict field validation, a rejection. An error is a status of the evaluation service.
func Mutate(ctx context.Context, to Evaluator, catalog string, r *Request) (*Answer, error) {
	if why := r.skipReason(); why != "" {
		return r.allowSkipped(why), nil
	}
	response, err := to.Admit(ctx, &crdevalv1.AdmitRequest{
		Catalog: catalog, Items: []*crdevalv1.EvaluationItem{r.item()}, Stage: crdevalv1.AdmissionStage_ADMISSION_STAGE_DECODE,
		Options: &crdevalv1.EvaluationOptions{
			View: crdevalv1.ObjectView_OBJECT_VIEW_CHANGED, FieldValidation: fieldValidations[r.fieldValidation()],
		},
	})
	v, answer, err := r.answer(catalog, response.GetResults(), err)
	if err != nil || v.GetObject() == nil {
		return answer, err
	}
	patch, err := difference(r.inner.Object.Raw, v.GetObject().GetJson())
	if err == nil && patch != nil {
		answer.patch(patch)
	}
	return answer, err
}
