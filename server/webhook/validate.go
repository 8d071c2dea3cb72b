package webhook

import (
	"context"
	"errors"

	"google.golang.org/grpc"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// Evaluator is the part of crdevalv1.EvaluationServiceClient that the webhooks use.
type Evaluator interface {
	Validate(context.Context, *crdevalv1.ValidateRequest, ...grpc.CallOption) (*crdevalv1.ValidateResponse, error)
	Admit(context.Context, *crdevalv1.AdmitRequest, ...grpc.CallOption) (*crdevalv1.AdmitResponse, error)
}

// errUnaligned is the error of an answer that does not have one result for the one item.
var errUnaligned = errors.New("the evaluation service did not answer to one item with one result")

// Validate answers whether an API server with the CRD of the catalog accepts the object, with that server's message. It never
// answers with a patch. An error is a status of the evaluation service.
func Validate(ctx context.Context, to Evaluator, catalog string, r *Request) (*Answer, error) {
	if why := r.skipReason(); why != "" {
		return r.allowSkipped(why), nil
	}
	response, err := to.Validate(ctx, &crdevalv1.ValidateRequest{
		Catalog: catalog, Items: []*crdevalv1.EvaluationItem{r.item()},
		Options: &crdevalv1.EvaluationOptions{
			View: crdevalv1.ObjectView_OBJECT_VIEW_NONE, FieldValidation: fieldValidations[r.fieldValidation()],
		},
	})
	_, answer, err := r.answer(catalog, response.GetResults(), err)
	return answer, err
}

// answer returns the verdict on the only item of a call, and the answer that it stands for.
func (r *Request) answer(
	catalog string, results []*crdevalv1.VerdictResult, err error,
) (*crdevalv1.Verdict, *Answer, error) {
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
	v := results[0].GetVerdict()
	if v.GetAllowed() {
		return v, r.allow(v.GetRevision(), v.GetWarnings()), nil
	}
	return v, r.deny(r.rejection(v.GetRejection(), v.GetViolations()), v.GetRevision(), v.GetWarnings()), nil
}

// fieldValidations are the values of the API server's parameter fieldValidation. Its default is Warn.
var fieldValidations = map[string]crdevalv1.FieldValidation{
	"Ignore": crdevalv1.FieldValidation_FIELD_VALIDATION_IGNORE,
	"Warn":   crdevalv1.FieldValidation_FIELD_VALIDATION_WARN,
	"Strict": crdevalv1.FieldValidation_FIELD_VALIDATION_STRICT,
}

// item returns the write of a request, at the version to which the API server has converted the object.
func (r *Request) item() *crdevalv1.EvaluationItem {
	q := r.inner
	m := &crdevalv1.EvaluationItem{
		Crd: r.crd(), Version: q.Resource.Version, Object: document(q.Object.Raw), Namespace: q.Namespace, Name: q.Name,
		Subresource: q.SubResource,
	}
	if len(q.OldObject.Raw) > 0 {
		m.OldObject = document(q.OldObject.Raw)
	}
	return m
}

func document(json []byte) *crdevalv1.Document {
	return &crdevalv1.Document{Content: &crdevalv1.Document_Json{Json: json}}
}
