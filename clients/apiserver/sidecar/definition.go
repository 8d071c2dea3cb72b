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
	v, err := d.decodeBody(ctx, o, func(at *registration) *crdevalv1.BodyItem {
		return &crdevalv1.BodyItem{
			Crd: d.name, Revision: at.revision, Version: version, Write: &crdevalv1.BodyItem_Body{Body: document(object)},
		}
	})
	return v.BodyVerdict, err
}

// BodyAndValidate implements apiserver.Definition.
func (d *definition) BodyAndValidate(
	ctx context.Context, w engine.ObjectWrite, o kubeserver.WriteOptions,
) (kubeserver.BodyAndValidateVerdict, error) {
	return d.decodeBody(ctx, o, func(at *registration) *crdevalv1.BodyItem {
		m := &crdevalv1.BodyItem{Crd: d.name, Revision: at.revision}
		switch w := w.(type) {
		case engine.Create:
			m.Version, m.Namespace, m.Name = w.Version, w.Namespace, w.Name
			m.Write = &crdevalv1.BodyItem_Create{Create: creation(w)}
		case engine.Update:
			m.Version, m.Namespace, m.Name = w.Version, w.Namespace, w.Name
			m.Write = &crdevalv1.BodyItem_Update{Update: update(w)}
		}
		return m
	})
}

func (d *definition) decodeBody(
	ctx context.Context, o kubeserver.WriteOptions, item func(*registration) *crdevalv1.BodyItem,
) (out kubeserver.BodyAndValidateVerdict, err error) {
	b, err := call(ctx, d, func(ctx context.Context, at *registration) (*crdevalv1.DecodedBody, error) {
		r, err := d.client.APIServer().DecodeBody(ctx, &crdevalv1.DecodeBodyRequest{
			Context: d.evaluationContext(at, evaluationOptions(o)), Items: []*crdevalv1.BodyItem{item(at)},
		}, d.unary...)
		if err != nil {
			return nil, err
		}
		result := r.GetResults()[0]
		return result.GetDecoded(), status.ErrorProto(result.GetError())
	})
	out.Verdict, out.StrictErrors = verdict(b.GetVerdict()), b.GetStrictErrors()
	out.ValidateAccepts, out.ReadsAsWritten = b.GetValidateAccepts(), b.GetReadsAsWritten()
	return out, err
}

// Validate implements apiserver.Definition.
func (d *definition) Validate(
	ctx context.Context, w engine.ObjectWrite, o kubeserver.WriteOptions,
) (kubeserver.ValidateVerdict, error) {
	v, err := call(ctx, d, func(ctx context.Context, at *registration) (*crdevalv1.ValidatedObject, error) {
		item := &crdevalv1.DecodedItem{Crd: d.name, Revision: at.revision}
		switch w := w.(type) {
		case engine.Create:
			item.Version, item.Namespace, item.Name = w.Version, w.Namespace, w.Name
			item.Write = &crdevalv1.DecodedItem_Create{Create: creation(w)}
		case engine.Update:
			item.Version, item.Namespace, item.Name = w.Version, w.Namespace, w.Name
			item.Write = &crdevalv1.DecodedItem_Update{Update: update(w)}
		}
		r, err := d.client.APIServer().ValidateDecoded(ctx, &crdevalv1.ValidateDecodedRequest{
			Context: d.evaluationContext(at, evaluationOptions(o)), Items: []*crdevalv1.DecodedItem{item},
		}, d.unary...)
		if err != nil {
			return nil, err
		}
		result := r.GetResults()[0]
		return result.GetValidated(), status.ErrorProto(result.GetError())
	})
	return kubeserver.ValidateVerdict{Verdict: verdict(v.GetVerdict()), ReadsAsWritten: v.GetReadsAsWritten()}, err
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
