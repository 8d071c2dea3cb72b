package api

import (
	"context"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/kubeserver"
	"github.com/crdeval/crdeval/engine/rules"
)

// options are the options of all evaluation calls.
type options struct {
	fieldValidation  engine.FieldValidation
	completeMetadata bool
	withStatus       bool
	view             engine.View
	trace            rules.TraceMode
	include          engine.PresentationOptions

	asGiven       bool      // of Validate
	admit         judgement // of Admit: that of its stage
	keepNulls     bool      // of Default
	targetVersion string    // of Read and Convert
}

// judgement is a call of the engine that returns a verdict.
type judgement func(ctx context.Context, d *engine.Definition, w engine.Write, o *options) (*engine.Verdict, error)

func validate(ctx context.Context, d *engine.Definition, w engine.Write, o *options) (*engine.Verdict, error) {
	return d.Validate(ctx, w, engine.ValidateOptions{
		FieldValidation: o.fieldValidation, CompleteMetadata: o.completeMetadata, AsGiven: o.asGiven,
		Brief: o.view == engine.ViewNone, WithStatus: o.withStatus, Trace: o.trace,
	})
}

func admit(ctx context.Context, d *engine.Definition, w engine.Write, o *options) (*engine.Verdict, error) {
	return d.Admit(ctx, w, o.forAdmit())
}

func decode(ctx context.Context, d *engine.Definition, w engine.Write, o *options) (*engine.Verdict, error) {
	return d.Decode(ctx, w, o.forAdmit())
}

func finish(ctx context.Context, d *engine.Definition, w engine.Write, o *options) (*engine.Verdict, error) {
	object, ok := w.(engine.ObjectWrite)
	if !ok {
		return nil, invalid("patch", "patch needs ADMISSION_STAGE_DECODE: send the resulting object with ADMISSION_STAGE_FINISH")
	}
	return d.Finish(ctx, object, o.forAdmit())
}

func (o *options) forAdmit() engine.AdmitOptions {
	return engine.AdmitOptions{
		FieldValidation: o.fieldValidation, CompleteMetadata: o.completeMetadata, WithStatus: o.withStatus, Trace: o.trace,
		View: o.view, Include: o.include,
	}
}

// transformation is a call of the engine that returns an object.
type transformation func(
	ctx context.Context, d *engine.Definition, object engine.Document, version string, o *options,
) (*engine.Transformed, error)

func prune(ctx context.Context, d *engine.Definition, object engine.Document, version string, o *options) (*engine.Transformed, error) {
	return d.Prune(ctx, object, engine.TransformOptions{Version: version, View: o.view})
}

func setDefaults(ctx context.Context, d *engine.Definition, object engine.Document, version string, o *options) (*engine.Transformed, error) {
	transform := engine.TransformOptions{Version: version, View: o.view}
	if o.keepNulls {
		return kubeserver.SetDefaults(ctx, d, object, transform)
	}
	return d.Default(ctx, object, transform)
}

func read(ctx context.Context, d *engine.Definition, object engine.Document, version string, o *options) (*engine.Transformed, error) {
	return d.Read(ctx, object, engine.ReadOptions{
		Version: version, View: o.view, TargetVersion: o.targetVersion, Include: o.include,
	})
}

func convertTo(ctx context.Context, d *engine.Definition, object engine.Document, version string, o *options) (*engine.Transformed, error) {
	return d.Convert(ctx, object, o.targetVersion, engine.TransformOptions{Version: version, View: o.view})
}
