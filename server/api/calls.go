package api

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/kubeserver"
	"github.com/crdeval/crdeval/engine/rules"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
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

// A verdict is a verdict with the results that only stages of API servers have.
type verdict struct {
	*engine.Verdict
	strictErrors                    []string
	readsAsWritten, validateAccepts bool
}

// message returns the message of a verdict.
func (v *verdict) message() *crdevalv1.Verdict {
	m := VerdictMessage(v.Verdict)
	m.StrictErrors, m.ReadsAsWritten = allValid(v.strictErrors), v.readsAsWritten
	if v.validateAccepts {
		m.Valid = proto.Bool(true)
	}
	return m
}

// judgement is a call of the engine that returns a verdict.
type judgement func(ctx context.Context, d *engine.Definition, w engine.Write, o *options) (verdict, error)

func validate(ctx context.Context, d *engine.Definition, w engine.Write, o *options) (verdict, error) {
	v, err := d.Validate(ctx, w, engine.ValidateOptions{
		FieldValidation: o.fieldValidation, CompleteMetadata: o.completeMetadata, AsGiven: o.asGiven,
		Brief: o.view == engine.ViewNone, WithStatus: o.withStatus, Trace: o.trace,
	})
	return verdict{Verdict: v}, err
}

func admit(ctx context.Context, d *engine.Definition, w engine.Write, o *options) (verdict, error) {
	v, err := d.Admit(ctx, w, o.forAdmit())
	return verdict{Verdict: v}, err
}

func decode(ctx context.Context, d *engine.Definition, w engine.Write, o *options) (verdict, error) {
	v, err := d.Decode(ctx, w, o.forAdmit())
	return verdict{Verdict: v}, err
}

func finish(ctx context.Context, d *engine.Definition, w engine.Write, o *options) (verdict, error) {
	object, err := objectWrite(w)
	if err != nil {
		return verdict{}, err
	}
	v, err := d.Finish(ctx, object, o.forAdmit())
	return verdict{Verdict: v}, err
}

func body(ctx context.Context, d *engine.Definition, w engine.Write, o *options) (verdict, error) {
	create, ok := w.(engine.Create)
	if !ok || create.GeneratedName != "" {
		return verdict{}, invalid("old_object",
			"ADMISSION_STAGE_BODY decodes the body alone: leave out old_object, patch, subresource and generated_name")
	}
	v, err := kubeserver.Body(ctx, d, create.Version, create.Object, o.forServer())
	return verdict{Verdict: v.Verdict, strictErrors: v.StrictErrors}, err
}

func validateDecoded(ctx context.Context, d *engine.Definition, w engine.Write, o *options) (verdict, error) {
	object, err := objectWrite(w)
	if err != nil {
		return verdict{}, err
	}
	v, err := kubeserver.Validate(ctx, d, object, o.forServer())
	return verdict{Verdict: v.Verdict, readsAsWritten: v.ReadsAsWritten}, err
}

func bodyAndValidate(ctx context.Context, d *engine.Definition, w engine.Write, o *options) (verdict, error) {
	object, err := objectWrite(w)
	if err != nil {
		return verdict{}, err
	}
	v, err := kubeserver.BodyAndValidate(ctx, d, object, o.forServer())
	return verdict{v.Verdict, v.StrictErrors, v.ReadsAsWritten, v.ValidateAccepts}, err
}

// objectWrite rejects patches, which only some stages apply.
func objectWrite(w engine.Write) (engine.ObjectWrite, error) {
	object, ok := w.(engine.ObjectWrite)
	if !ok {
		return nil, invalid("patch", "patch needs ADMISSION_STAGE_DECODE: send the resulting object with ADMISSION_STAGE_FINISH")
	}
	return object, nil
}

func (o *options) forAdmit() engine.AdmitOptions {
	return engine.AdmitOptions{
		FieldValidation: o.fieldValidation, CompleteMetadata: o.completeMetadata, WithStatus: o.withStatus, Trace: o.trace,
		View: o.view, Include: o.include,
	}
}

func (o *options) forServer() kubeserver.WriteOptions {
	return kubeserver.WriteOptions{
		FieldValidation: o.fieldValidation, View: o.view, WithStatus: o.withStatus, Trace: o.trace,
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
