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
	Prune(context.Context, *crdevalv1.PruneRequest, ...grpc.CallOption) (*crdevalv1.PruneResponse, error)
	Default(context.Context, *crdevalv1.DefaultRequest, ...grpc.CallOption) (*crdevalv1.DefaultResponse, error)
}

// errUnaligned is the error of an answer that does not have one result for the one item.
var errUnaligned = errors.New("the evaluation service did not answer to one item with one result")

// Validate answers whether an API server with the CRD of the catalog accepts the object, with that server's message. It never
// answers with a patch. An error is a status of the evaluation service.
func Validate(ctx context.Context, to Evaluator, catalog string, r *Request) (*Answer, error) {
	if why := r.skipReason(); why != "" {
		return r.allowSkipped(why), nil
	}
	return r.validate(ctx, to, catalog)
}

// validate validates the object.
func (r *Request) validate(ctx context.Context, to Evaluator, catalog string) (*Answer, error) {
	answer, err := to.Validate(ctx, &crdevalv1.ValidateRequest{
		Catalog: catalog, Items: []*crdevalv1.EvaluationItem{r.item(true)},
		Options: &crdevalv1.EvaluationOptions{View: crdevalv1.ObjectView_OBJECT_VIEW_NONE, FieldValidation: fieldValidations[r.fieldValidation()]},
	})
	switch {
	case err != nil:
		return nil, err
	case len(answer.GetResults()) != 1:
		return nil, errUnaligned
	}
	result := answer.GetResults()[0]
	if failed := result.GetError(); failed != nil {
		return r.failed(catalog, failed)
	}
	v := result.GetVerdict()
	if v.GetAllowed() {
		return r.allow(v.GetRevision(), v.GetWarnings()), nil
	}
	return r.deny(r.rejection(v.GetRejection(), v.GetViolations()), v.GetRevision(), v.GetWarnings()), nil
}

// fieldValidations are the values of the API server's parameter fieldValidation. Its default is Warn.
var fieldValidations = map[string]crdevalv1.FieldValidation{
	"Ignore": crdevalv1.FieldValidation_FIELD_VALIDATION_IGNORE,
	"Warn":   crdevalv1.FieldValidation_FIELD_VALIDATION_WARN,
	"Strict": crdevalv1.FieldValidation_FIELD_VALIDATION_STRICT,
}

// item returns the object of a request, at the version to which the API server has converted it; of a write with the old object.
func (r *Request) item(write bool) *crdevalv1.EvaluationItem {
	q := r.inner
	m := &crdevalv1.EvaluationItem{Crd: r.crd(), Version: q.Resource.Version, Object: document(q.Object.Raw), Namespace: q.Namespace, Name: q.Name}
	if write {
		m.Subresource = q.SubResource
		if len(q.OldObject.Raw) > 0 {
			m.OldObject = document(q.OldObject.Raw)
		}
	}
	return m
}

func document(json []byte) *crdevalv1.Document {
	return &crdevalv1.Document{Content: &crdevalv1.Document_Json{Json: json}}
}
