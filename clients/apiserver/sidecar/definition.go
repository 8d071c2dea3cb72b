package sidecar

import (
	"context"

	"google.golang.org/grpc/status"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/kubeserver"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// Body implements apiserver.Definition.
func (d *definition) Body(
	ctx context.Context, version string, object engine.Document, o kubeserver.WriteOptions,
) (kubeserver.BodyVerdict, error) {
	w := engine.Create{Version: version, Object: object}
	v, err := d.admit(ctx, crdevalv1.AdmissionStage_ADMISSION_STAGE_BODY, w, o)
	return kubeserver.BodyVerdict{Verdict: verdict(v), StrictErrors: v.GetStrictErrors()}, err
}

// BodyAndValidate implements apiserver.Definition.
func (d *definition) BodyAndValidate(
	ctx context.Context, w engine.ObjectWrite, o kubeserver.WriteOptions,
) (out kubeserver.BodyAndValidateVerdict, err error) {
	v, err := d.admit(ctx, crdevalv1.AdmissionStage_ADMISSION_STAGE_BODY_AND_VALIDATE, w, o)
	out.Verdict, out.StrictErrors = verdict(v), v.GetStrictErrors()
	out.ValidateAccepts, out.ReadsAsWritten = v.GetValid(), v.GetReadsAsWritten()
	return out, err
}

// Validate implements apiserver.Definition.
func (d *definition) Validate(
	ctx context.Context, w engine.ObjectWrite, o kubeserver.WriteOptions,
) (kubeserver.ValidateVerdict, error) {
	v, err := d.admit(ctx, crdevalv1.AdmissionStage_ADMISSION_STAGE_VALIDATE, w, o)
	return kubeserver.ValidateVerdict{Verdict: verdict(v), ReadsAsWritten: v.GetReadsAsWritten()}, err
}

func (d *definition) admit(
	ctx context.Context, stage crdevalv1.AdmissionStage, w engine.ObjectWrite, o kubeserver.WriteOptions,
) (*crdevalv1.Verdict, error) {
	return call(ctx, d, func(ctx context.Context, at *registration) (*crdevalv1.Verdict, error) {
		r, err := d.client.Evaluation().Admit(ctx, &crdevalv1.AdmitRequest{
			Context: d.evaluationContext(at, &crdevalv1.EvaluationOptions{
				FieldValidation: fieldValidations[o.FieldValidation], View: views[o.View], WithStatus: o.WithStatus,
			}),
			Items: []*crdevalv1.WriteItem{d.item(w, at)}, Stage: stage,
		}, d.unary...)
		if err != nil {
			return nil, err
		}
		result := r.GetResults()[0]
		return result.GetVerdict(), status.ErrorProto(result.GetError())
	})
}

// Read implements apiserver.Definition.
func (d *definition) Read(ctx context.Context, object engine.Document, o engine.ReadOptions) (*engine.Transformed, error) {
	return d.transform(ctx, object, func(ctx context.Context, at *registration, options *crdevalv1.EvaluationOptions) (transformed, error) {
		return d.client.Evaluation().Read(ctx, &crdevalv1.ReadRequest{
			Context: d.evaluationContext(at, options), Items: d.objects(o.Version, object, at), TargetVersion: o.TargetVersion,
		}, d.unary...)
	})
}

// Convert implements apiserver.Definition.
func (d *definition) Convert(
	ctx context.Context, object engine.Document, to string, o engine.TransformOptions,
) (*engine.Transformed, error) {
	return d.transform(ctx, object, func(ctx context.Context, at *registration, options *crdevalv1.EvaluationOptions) (transformed, error) {
		return d.client.Evaluation().Convert(ctx, &crdevalv1.ConvertRequest{
			Context: d.evaluationContext(at, options), Items: d.objects(o.Version, object, at), TargetVersion: to,
		})
	})
}

// SetDefaults implements apiserver.Definition.
func (d *definition) SetDefaults(
	ctx context.Context, object engine.Document, o engine.TransformOptions,
) (*engine.Transformed, error) {
	return d.transform(ctx, object, func(ctx context.Context, at *registration, options *crdevalv1.EvaluationOptions) (transformed, error) {
		return d.client.Evaluation().Default(ctx, &crdevalv1.DefaultRequest{
			Context: d.evaluationContext(at, options), Items: d.objects(o.Version, object, at), KeepNulls: true,
		})
	})
}

// transformed is the response of Read, Convert and Default.
type transformed interface {
	GetResults() []*crdevalv1.TransformResult
}

// transform calls the server for one object. An unchanged object is not sent back.
func (d *definition) transform(
	ctx context.Context, object engine.Document, f func(context.Context, *registration, *crdevalv1.EvaluationOptions) (transformed, error),
) (*engine.Transformed, error) {
	options := &crdevalv1.EvaluationOptions{}
	if object.JSON != nil {
		options.View = crdevalv1.ObjectView_OBJECT_VIEW_CHANGED
	}
	t, err := call(ctx, d, func(ctx context.Context, at *registration) (*crdevalv1.TransformedObject, error) {
		r, err := f(ctx, at, options)
		if err != nil {
			return nil, err
		}
		result := r.GetResults()[0]
		return result.GetTransformed(), status.ErrorProto(result.GetError())
	})
	if err == nil {
		err = rejected(t.GetRejection())
	}
	if err != nil {
		return nil, err
	}
	own := &engine.Transformed{Object: t.GetObject().GetJson(), Changed: t.GetChanged(), Warnings: warnings(t.GetWarnings()), Revision: t.GetRevision()}
	if own.Object == nil {
		own.Object = object.JSON
	}
	return own, nil
}
