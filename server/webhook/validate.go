package webhook

import (
	"context"

	"github.com/crdeval/crdeval/engine/document"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// Validate answers whether an API server with the CRD of the catalog accepts the object, with that server's message. It
// never answers with a patch. An error is a status of the evaluation service.
func Validate(ctx context.Context, to crdevalv1.EvaluationServiceClient, catalog string, r *Request) (*Answer, error) {
	if why := r.skipReason(); why != "" {
		return r.allowSkipped(why), nil
	}
	response, err := to.Validate(ctx, &crdevalv1.ValidateRequest{
		Context: &crdevalv1.EvaluationContext{Catalog: catalog, Options: &crdevalv1.EvaluationOptions{
			View: crdevalv1.ObjectView_OBJECT_VIEW_NONE, FieldValidation: fieldValidations[r.fieldValidation()],
		}}, Items: []*crdevalv1.WriteItem{r.item()},
	})
	_, answer, err := r.answer(catalog, response.GetResults(), err)
	return answer, err
}

// answer returns the verdict on the only item of a call, and the answer that it stands for.
func (r *Request) answer(
	catalog string, results []*crdevalv1.VerdictResult, err error,
) (*crdevalv1.Verdict, *Answer, error) {
	if err != nil {
		return nil, nil, err
	}
	if failed := results[0].GetError(); failed != nil {
		answer, err := r.failed(catalog, failed)
		return nil, answer, err
	}
	v := results[0].GetVerdict()
	if v.GetAllowed() {
		return v, r.allow(v.GetRevision(), texts(v.GetWarnings())), nil
	}
	return v, r.deny(r.rejection(v.GetRejection(), v.GetViolations()), v.GetRevision(), texts(v.GetWarnings())), nil
}

// fieldValidations are the values of the API server's parameter fieldValidation. Its default is Warn.
var fieldValidations = map[string]crdevalv1.FieldValidation{
	"Ignore": crdevalv1.FieldValidation_FIELD_VALIDATION_IGNORE,
	"Warn":   crdevalv1.FieldValidation_FIELD_VALIDATION_WARN,
	"Strict": crdevalv1.FieldValidation_FIELD_VALIDATION_STRICT,
}

// item returns the write of a request, at the version to which the API server has converted the object.
func (r *Request) item() *crdevalv1.WriteItem {
	q := r.inner
	m := &crdevalv1.WriteItem{Crd: r.crd(), Version: q.Resource.Version, Namespace: q.Namespace, Name: q.Name}
	if len(q.OldObject.Raw) == 0 && q.SubResource == "" {
		m.Write = &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: documentOf(q.Object.Raw)}}
	} else {
		m.Write = &crdevalv1.WriteItem_Update{Update: &crdevalv1.Update{
			Object: documentOf(q.Object.Raw), OldObject: documentOf(q.OldObject.Raw), Subresource: q.SubResource,
		}}
	}
	return m
}

func documentOf(json []byte) *crdevalv1.Document {
	return &crdevalv1.Document{Content: &crdevalv1.Document_Json{Json: json}}
}

// Mutate answers with the patch that an API server with the CRD of the catalog would apply to the object before
// mutating admission: metadata coerced, unknown fields pruned, nulls of fields that are not nullable dropped, defaults
// set. It does not validate the object: other webhooks may still change it.
//
// Pruned fields become warnings or, with strict field validation, a rejection. Errors are those of the evaluation.
func Mutate(ctx context.Context, to crdevalv1.EvaluationServiceClient, catalog string, r *Request) (*Answer, error) {
	if why := r.skipReason(); why != "" {
		return r.allowSkipped(why), nil
	}
	response, err := to.Admit(ctx, &crdevalv1.AdmitRequest{
		Context: &crdevalv1.EvaluationContext{Catalog: catalog, Options: &crdevalv1.EvaluationOptions{
			View: crdevalv1.ObjectView_OBJECT_VIEW_CHANGED, FieldValidation: fieldValidations[r.fieldValidation()],
		}}, Items: []*crdevalv1.WriteItem{r.item()}, Stage: crdevalv1.AdmissionStage_ADMISSION_STAGE_DECODE,
	})
	v, answer, err := r.answer(catalog, response.GetResults(), err)
	if err != nil || v.GetObject() == nil {
		return answer, err
	}
	patch, err := document.JSONPatch(r.inner.Object.Raw, v.GetObject().GetJson())
	if err == nil && patch != nil {
		answer.patch(patch)
	}
	return answer, err
}
