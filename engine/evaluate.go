package engine

import (
	"context"
	"errors"
	"time"

	"github.com/crdeval/crdeval/engine/host"
	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/engine/rules"
)

// Validate returns whether the API server would accept a write. Even JSON that cannot be decoded has a Verdict. The
// error is an *Error for a write that could not be evaluated.
func (d *Definition) Validate(ctx context.Context, w Write, o ValidateOptions) (*Verdict, error) {
	v, _, err := d.write(ctx, w, &writeOptions{
		call: host.Validate, fieldValidation: o.FieldValidation, completeMetadata: o.CompleteMetadata, asGiven: o.AsGiven,
		trace: o.Trace, withStatus: o.WithStatus, brief: o.Brief,
	})
	return v, err
}

// Admit does the whole write path of an API server, from decoding the request to the object that is stored, except for
// what needs a server, such as the check that a name is not taken. Errors are those of Validate.
//
// A server with mutating admission calls Decode, runs its admission, and calls Finish.
func (d *Definition) Admit(ctx context.Context, w Write, o AdmitOptions) (*Verdict, error) {
	return d.admit(ctx, w, &o, admission.StageWhole)
}

// Decode does the part of Admit before mutating admission. The body is decoded, patched, coerced and defaulted, its name
// and namespace are compared with the request's, and the old object is read.
func (d *Definition) Decode(ctx context.Context, w Write, o AdmitOptions) (*Verdict, error) {
	return d.admit(ctx, w, &o, admission.StageDecode)
}

// Finish does the part of Admit after mutating admission, with the object that it returned. The object is defaulted
// again, as if a webhook had changed it, prepared, validated and converted, but not strictly decoded.
func (d *Definition) Finish(ctx context.Context, w ObjectWrite, o AdmitOptions) (*Verdict, error) {
	return d.admit(ctx, w, &o, admission.StageFinish)
}

func (d *Definition) admit(ctx context.Context, w Write, o *AdmitOptions, stage admission.Stage) (*Verdict, error) {
	v, _, err := d.write(ctx, w, &writeOptions{
		call: host.Admit, stage: stage, fieldValidation: o.FieldValidation, completeMetadata: o.CompleteMetadata,
		trace: o.Trace, withStatus: o.WithStatus, view: o.View, brief: o.View == ViewNone, include: o.Include,
	})
	return v, err
}

// serverWrite calls a stage of package kubeserver.
func (d *Definition) serverWrite(ctx context.Context, s compiled.ServerRequest) (any, compiled.ServerOutcome, error) {
	w, _ := s.Write.(Write)
	view := View(s.View)
	return d.write(ctx, w, &writeOptions{
		call: host.Admit, server: s.Stage, fieldValidation: s.FieldValidation, trace: s.Trace, withStatus: s.WithStatus,
		view: view, brief: view != ViewFull,
	})
}

// setDefaults calls Default for package kubeserver: it keeps nulls.
func (d *Definition) setDefaults(ctx context.Context, object compiled.Document, version string, view uint8) (any, error) {
	return d.transform(ctx, host.Default, Document(object), View(view), &admission.Request{Version: version, KeepNulls: true}, nil)
}

// Prune returns the object with its metadata coerced and without the fields that the schema does not declare. Nulls
// remain, and nothing is defaulted.
func (d *Definition) Prune(ctx context.Context, object Document, o TransformOptions) (*Transformed, error) {
	return d.transform(ctx, host.Prune, object, o.View, &admission.Request{Version: o.Version}, nil)
}

// Default returns the object with defaults filled in and without nulls in fields that are not nullable. Nothing is
// pruned, and metadata is not changed.
func (d *Definition) Default(ctx context.Context, object Document, o TransformOptions) (*Transformed, error) {
	return d.transform(ctx, host.Default, object, o.View, &admission.Request{Version: o.Version}, nil)
}

// Read returns what the API server returns for bytes in its storage. Malformed metadata is dropped instead of rejected
// and the generation repaired. The object is pruned, nulls are dropped, and it is defaulted at its own version. With a
// TargetVersion it is then converted and coerced to that version's schema, without more defaulting.
func (d *Definition) Read(ctx context.Context, object Document, o ReadOptions) (*Transformed, error) {
	r := admission.Request{Version: o.Version, Target: o.TargetVersion}
	return d.transform(ctx, host.Read, object, o.View, &r, newPresenter(&r, o.Include))
}

// Convert returns the object converted to a version and coerced to that version's schema.
func (d *Definition) Convert(ctx context.Context, object Document, to string, o TransformOptions) (*Transformed, error) {
	if to == "" {
		return nil, invalid("there is no target version: say which of the CRD's versions to convert to")
	}
	return d.transform(ctx, host.Convert, object, o.View, &admission.Request{Version: o.Version, Target: to}, nil)
}

// writeOptions are the options of all calls that evaluate a write.
type writeOptions struct {
	call             host.Call
	stage            admission.Stage
	server           compiled.ServerStage // 0 for a call of this package
	fieldValidation  FieldValidation
	completeMetadata bool
	asGiven          bool
	trace            rules.TraceMode
	withStatus       bool
	view             View
	brief            bool // no Pruned, Defaulted and hints
	include          PresentationOptions
}

// write evaluates a write.
func (d *Definition) write(ctx context.Context, w Write, o *writeOptions) (_ *Verdict, more compiled.ServerOutcome, err error) {
	defer host.Recover(&err)
	start := d.clock()
	r := admission.Request{
		Limits: d.compiled.Limits, Handler: true, FieldValidation: o.fieldValidation, AsGiven: o.asGiven, Stage: o.stage,
		CompleteMetadata: o.completeMetadata, Trace: o.trace, WantStatus: o.withStatus, WantChanges: !o.brief,
		Whole: o.call == host.Admit,
	}
	if err := setWrite(&r, w); err != nil {
		return nil, more, publicError(err)
	}
	if err := o.check(); err != nil {
		return nil, more, err
	}
	switch o.server {
	case compiled.ServerBodyAndValidate:
		if r.Scale {
			return nil, more, invalid("the body of a write to scale is a Scale, not the object: call Validate")
		}
		then := r
		then.Stage, then.Defaulted, then.FieldValidation, then.WantChanges = admission.StageFinish, true, admission.Ignore, false
		r.Then, r.Old, r.OldYAML, r.OldDecoded, r.Status, r.Scale = &then, nil, false, false, false, false
		fallthrough
	case compiled.ServerBody:
		r.Whole, r.Handler, r.StrictApart, r.Stage = false, false, true, admission.StageDecode
	case compiled.ServerValidate:
		r.Stage, r.Defaulted = admission.StageFinish, true
	}
	v := &Verdict{Revision: d.compiled.Revision}
	presenter := newPresenter(&r, o.include)
	var out admission.Outcome
	if o.call == host.Admit {
		r.WantObject, r.WantChanged = o.view != ViewNone, o.view == ViewChanged
	}
	if o.call == host.Admit && o.server != compiled.ServerValidate {
		out, err = d.compiled.Inner.Admit(ctx, &r)
	} else {
		out, err = d.compiled.Inner.Write(ctx, &r)
	}
	if err == nil && o.withStatus && out.Rejection != nil {
		v.Status, err = out.Rejection.Status()
	}
	if err != nil {
		err = faultError(err)
		d.observe(ctx, o.call, &r, &out, start, err)
		return nil, more, err
	}
	if !o.brief {
		d.addHints(ctx, &r, &out)
	}
	v.Allowed, v.Rejection, v.Warnings = out.Rejection == nil, out.Rejection, warnings(out.Warnings)
	v.Pruned, v.Defaulted, v.OmittedChanges = changes(out.Pruned), changes(out.Defaulted), out.OmittedChanges
	v.Violations, v.Next, v.Ratcheted = violations(out.Violations), violations(out.Next), violations(out.Ratcheted)
	v.Traces, v.OmittedTraces = out.Traces, out.OmittedTraces
	if r.StrictApart {
		for i := range out.Strict {
			more.StrictErrors = append(more.StrictErrors, out.Strict[i].Text)
		}
	}
	if v.Allowed {
		v.Object, v.StoredObject, v.OldObject, v.Deletes = out.Object, out.Stored, out.Old, out.Deletes
		v.Unchanged, more.ReadsAsWritten, more.Valid = out.Unchanged, out.ReadsAsWritten, out.Valid
		if o.view == ViewChanged && !out.Changed && r.Patch == 0 {
			v.Object = nil
		}
		v.Presentation, v.Warnings = presenter.result(v.Warnings)
	}
	d.observe(ctx, o.call, &r, &out, start, nil)
	return v, more, nil
}

// check rejects values that an option does not have.
func (o *writeOptions) check() error {
	if o.trace > rules.TraceAll {
		return invalid("unknown trace mode: use TraceNone, TraceFailed or TraceAll")
	}
	if err := checkFieldValidation(o.fieldValidation); err != nil {
		return err
	}
	return o.view.check()
}

func checkFieldValidation(v FieldValidation) error {
	if v > FieldValidationStrict {
		return invalid("unknown field validation: use FieldValidationWarn, FieldValidationIgnore or FieldValidationStrict")
	}
	return nil
}

func (v View) check() error {
	if v > ViewNone {
		return invalid("unknown view: use ViewFull, ViewChanged or ViewNone")
	}
	return nil
}

// transform implements Prune, Default, Read and Convert. r has the options that only the call has.
func (d *Definition) transform(
	ctx context.Context, call host.Call, object Document, view View, r *admission.Request, presenter *presenter,
) (_ *Transformed, err error) {
	defer host.Recover(&err)
	start := d.clock()
	if err := setBody(r, object, "object"); err != nil {
		return nil, publicError(err)
	}
	if err := view.check(); err != nil {
		return nil, err
	}
	r.Limits, r.Handler = d.compiled.Limits, true
	r.WantObject, r.WantChanged, r.WantChanges = view != ViewNone, true, true
	out, err := d.do(ctx, call, r)
	if err != nil {
		if f := (*admission.Fault)(nil); errors.As(err, &f) {
			out.Violations = f.Violations
			d.addHints(ctx, r, &out)
		}
		err = faultError(err)
		d.observe(ctx, call, r, &out, start, err)
		return nil, err
	}
	if call == host.Prune {
		d.addHints(ctx, r, &out)
	}
	t := &Transformed{
		Object: out.Object, Changed: out.Changed, Pruned: changes(out.Pruned), Defaulted: changes(out.Defaulted),
		OmittedChanges: out.OmittedChanges, Revision: d.compiled.Revision,
	}
	t.Presentation, t.Warnings = presenter.result(warnings(out.Warnings))
	if view == ViewChanged && !t.Changed {
		t.Object = nil
	}
	d.observe(ctx, call, r, &out, start, nil)
	return t, nil
}

func (d *Definition) do(ctx context.Context, call host.Call, r *admission.Request) (admission.Outcome, error) {
	switch call {
	case host.Prune:
		return d.compiled.Inner.Prune(ctx, r)
	case host.Default:
		return d.compiled.Inner.Default(ctx, r)
	case host.Read:
		return d.compiled.Inner.Read(ctx, r)
	}
	return d.compiled.Inner.Convert(ctx, r)
}

func changes(list []admission.Change) []FieldChange {
	if len(list) == 0 {
		return nil
	}
	out := make([]FieldChange, len(list))
	for i, c := range list {
		out[i] = FieldChange{Path: c.Text, Pointer: c.Pointer, Value: c.Value, Hint: c.Hint}
		if at := list[i].Position; at != (Position{}) {
			out[i].Position = &at
		}
	}
	return out
}

func (d *Definition) clock() (start time.Time) {
	if d.observer != nil {
		start = time.Now()
	}
	return start
}

func (d *Definition) observe(
	ctx context.Context, call host.Call, r *admission.Request, out *admission.Outcome, start time.Time, err error,
) {
	if d.observer == nil {
		return
	}
	version := r.Version
	if out.Version != nil {
		version = out.Version.Name
	}
	old := r.Old
	if r.Then != nil {
		old = r.Then.Old
	}
	d.observer.Evaluated(ctx, host.EvaluationEvent{
		Call: call, CRD: d.compiled.Inner.Name, Version: version, Duration: time.Since(start), Bytes: len(r.Body) + len(old),
		Exact:      out.Exact,
		Allowed:    (call == host.Validate || call == host.Admit) && err == nil && out.Rejection == nil,
		Violations: len(out.Violations), Err: err,
	})
}
