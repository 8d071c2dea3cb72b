package sidecar

import (
	"context"

	"google.golang.org/grpc/status"

	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// Admit implements apiserver.Definition.
func (d *definition) Admit(ctx context.Context, item engine.Item, o engine.EvaluationOptions) (*engine.Verdict, error) {
	v, err := call(ctx, d, func(ctx context.Context, at *registration) (*crdevalv1.Verdict, error) {
		r, err := d.client.Evaluation().Admit(ctx, &crdevalv1.AdmitRequest{
			Catalog: d.catalog, AtLeast: at.token, Items: d.item(&item, at), Stage: stage(o.Stage),
			Options: &crdevalv1.EvaluationOptions{
				FieldValidation: fieldValidations[o.FieldValidation], View: views[o.View], WithStatus: o.WithStatus,
			},
		}, d.unary...)
		if err != nil {
			return nil, err
		}
		result := r.GetResults()[0]
		return result.GetVerdict(), status.ErrorProto(result.GetError())
	})
	if err != nil {
		return nil, err
	}
	return verdict(v), nil
}

// Read implements apiserver.Definition.
func (d *definition) Read(ctx context.Context, item engine.Item, o engine.EvaluationOptions) (*engine.Transformed, error) {
	return d.transform(ctx, item, func(ctx context.Context, at *registration, options *crdevalv1.EvaluationOptions) (transformed, error) {
		return d.client.Evaluation().Read(ctx, &crdevalv1.ReadRequest{
			Catalog: d.catalog, AtLeast: at.token, Items: d.item(&item, at), Options: options, TargetVersion: o.TargetVersion,
		}, d.unary...)
	})
}

// Convert implements apiserver.Definition.
func (d *definition) Convert(ctx context.Context, item engine.Item, o engine.EvaluationOptions) (*engine.Transformed, error) {
	return d.transform(ctx, item, func(ctx context.Context, at *registration, options *crdevalv1.EvaluationOptions) (transformed, error) {
		return d.client.Evaluation().Convert(ctx, &crdevalv1.ConvertRequest{
			Catalog: d.catalog, AtLeast: at.token, Items: d.item(&item, at), Options: options, TargetVersion: o.TargetVersion,
		})
	})
}

// Default implements apiserver.Definition.
func (d *definition) Default(ctx context.Context, item engine.Item, o engine.EvaluationOptions) (*engine.Transformed, error) {
	return d.transform(ctx, item, func(ctx context.Context, at *registration, options *crdevalv1.EvaluationOptions) (transformed, error) {
		return d.client.Evaluation().Default(ctx, &crdevalv1.DefaultRequest{
			Catalog: d.catalog, AtLeast: at.token, Items: d.item(&item, at), Options: options, KeepNulls: o.KeepNulls,
		})
	})
}

// transformed is the response of Read, Convert and Default.
type transformed interface {
	GetResults() []*crdevalv1.TransformResult
}

// transform calls the server for one object. An unchanged object is not sent back.
func (d *definition) transform(
	ctx context.Context, item engine.Item, f func(context.Context, *registration, *crdevalv1.EvaluationOptions) (transformed, error),
) (*engine.Transformed, error) {
	options := &crdevalv1.EvaluationOptions{}
	if item.Object.JSON != nil {
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
		own.Object = item.Object.JSON
	}
	return own, nil
}
