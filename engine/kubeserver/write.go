package kubeserver

import (
	"context"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/engine/rules"
)

// WriteOptions change Body, Validate and BodyAndValidate. The zero value is the default of the API server.
type WriteOptions struct {
	// FieldValidation says what happens with unknown and duplicate fields of a body. Validate ignores it.
	FieldValidation engine.FieldValidation
	// View selects how much of the object is returned. Without ViewFull, there are no Pruned, Defaulted and hints either.
	View engine.View
	// WithStatus asks for engine.Verdict.Status.
	WithStatus bool
	// Trace selects the rules that are traced.
	Trace rules.TraceMode
}

// BodyVerdict is the result of Body. Its Object keeps all metadata.
type BodyVerdict struct {
	*engine.Verdict
	// StrictErrors are the errors of strict decoding: duplicate fields, then unknown ones. They are empty for
	// FieldValidationIgnore.
	StrictErrors []string
}

// ValidateVerdict is the result of Validate. Its Object keeps resourceVersion and selfLink.
type ValidateVerdict struct {
	*engine.Verdict
	// ReadsAsWritten reports that the storage version is that of the request, and that engine.Definition.Read of Object
	// returns Object. It is false if the evaluator does not know.
	ReadsAsWritten bool
}

// BodyAndValidateVerdict is the result of BodyAndValidate.
type BodyAndValidateVerdict struct {
	BodyVerdict
	// ValidateAccepts reports that Validate accepts Object, changes only its status and metadata as the strategy of an API
	// server does, and has the warnings in Warnings. This holds for every well-formed value of the uid, the times, the
	// generation, the namespace and the managed fields that a server sets. For an update, it holds only while the stored
	// object is the old object. It is false if the evaluator does not know: then Validate decides.
	ValidateAccepts bool
	// ReadsAsWritten is that of Validate, and false unless ValidateAccepts is true.
	ReadsAsWritten bool
}

// Body is the part of engine.Definition.Decode before it matters whether the write is a creation or an update: the body
// is decoded, coerced and defaulted. All metadata is kept, and is not compared with the request. version is that of the
// endpoint, "" for that of the object's apiVersion. The error is that of engine.Definition.Validate.
func Body(
	ctx context.Context, d *engine.Definition, version string, object engine.Document, o WriteOptions,
) (BodyVerdict, error) {
	v, out, err := write(ctx, d, compiled.ServerBody, engine.Create{Version: version, Object: object}, &o)
	return BodyVerdict{v, out.StrictErrors}, err
}

// Validate is engine.Definition.Finish without defaults and without the storage, for a server that stores the object
// itself: the object is prepared and validated, and is neither converted to the storage version nor read back. Call
// SetDefaults for an object that admission or server-side apply has changed. The error is that of
// engine.Definition.Validate.
func Validate(ctx context.Context, d *engine.Definition, w engine.ObjectWrite, o WriteOptions) (ValidateVerdict, error) {
	v, out, err := write(ctx, d, compiled.ServerValidate, w, &o)
	return ValidateVerdict{v, out.ReadsAsWritten}, err
}

// BodyAndValidate is Body, and reports whether Validate would accept the object as it was decoded. A server that does not
// change the object in between needs no second call. Without OldDecoded, it never reports so for an update. A write to
// the subresource scale is an error, because its body is not the object.
func BodyAndValidate(
	ctx context.Context, d *engine.Definition, w engine.ObjectWrite, o WriteOptions,
) (BodyAndValidateVerdict, error) {
	v, out, err := write(ctx, d, compiled.ServerBodyAndValidate, w, &o)
	return BodyAndValidateVerdict{BodyVerdict{v, out.StrictErrors}, out.Valid, out.ReadsAsWritten}, err
}

func write(
	ctx context.Context, d *engine.Definition, stage compiled.ServerStage, w engine.ObjectWrite, o *WriteOptions,
) (*engine.Verdict, compiled.ServerOutcome, error) {
	v, out, err := compiled.ServerWrite(ctx, d, compiled.ServerRequest{
		Stage: stage, Write: w, FieldValidation: o.FieldValidation, Trace: o.Trace, View: uint8(o.View), WithStatus: o.WithStatus,
	})
	if err != nil {
		return nil, out, err
	}
	return v.(*engine.Verdict), out, nil
}

// SetDefaults is engine.Definition.Default for an object that is merged with others: nulls are kept in fields that are not
// nullable and have no default.
func SetDefaults(
	ctx context.Context, d *engine.Definition, object engine.Document, o engine.TransformOptions,
) (*engine.Transformed, error) {
	t, err := compiled.SetDefaults(ctx, d, compiled.Document(object), o.Version, uint8(o.View))
	if err != nil {
		return nil, err
	}
	return t.(*engine.Transformed), nil
}
