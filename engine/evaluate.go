package engine

import (
	"context"
	"errors"
	"time"

	"github.com/crdeval/crdeval/engine/internal/admission"
)

// Validate returns whether the API server would accept a write of the object: a creation, or with an OldObject an
// update. Even JSON that cannot be decoded has a Verdict. The error is an *Error for an item that could not be
// evaluated.
func (d *Definition) Validate(ctx context.Context, item Item, o EvaluationOptions) (*Verdict, error) {
	return d.write(ctx, CallValidate, &item, &o)
}

// Admit does the whole write path of an API server, from decoding the request to the object that is stored, except for
// what needs a server, such as the check that a name is not taken. Errors are those of Validate.
func (d *Definition) Admit(ctx context.Context, item Item, o EvaluationOptions) (*Verdict, error) {
	return d.write(ctx, CallAdmit, &item, &o)
}

// Prune returns the object with its metadata coerced and without the fields that the schema does not declare. Nulls
// remain, and nothing is defaulted.
func (d *Definition) Prune(ctx context.Context, item Item, o EvaluationOptions) (*Transformed, error) {
	return d.transform(ctx, CallPrune, &item, &o, d.compiled.Inner.Prune)
}

// Default returns the object with defaults filled in and, unless o.KeepNulls is set, without nulls in fields that are
// not nullable. Nothing is pruned, and metadata is not changed.
func (d *Definition) Default(ctx context.Context, item Item, o EvaluationOptions) (*Transformed, error) {
	return d.transform(ctx, CallDefault, &item, &o, d.compiled.Inner.Default)
}

// Read returns what the API server returns for bytes in its storage. Malformed metadata is dropped instead of rejected
// and the generation repaired. The object is pruned, nulls are dropped, and it is defaulted at its own version. With a
// TargetVersion it is then converted and coerced to that version's schema, without more defaulting.
func (d *Definition) Read(ctx context.Context, item Item, o EvaluationOptions) (*Transformed, error) {
	return d.transform(ctx, CallRead, &item, &o, d.compiled.Inner.Read)
}

// Convert returns the object converted to the TargetVersion and coerced to that version's schema.
func (d *Definition) Convert(ctx context.Context, item Item, o EvaluationOptions) (*Transformed, error) {
	if o.TargetVersion == "" {
		return nil, invalid("there is no target version: say which of the CRD's versions to convert to")
	}
	return d.transform(ctx, CallConvert, &item, &o, d.compiled.Inner.Convert)
}

// write implements Validate and Admit.
func (d *Definition) write(ctx context.Context, call Call, item *Item, o *EvaluationOptions) (_ *Verdict, err error) {
	defer Recover(&err)
	start := d.clock()
	r, err := d.request(item, o)
	if err == nil {
		err = setUpdate(&r, item)
	}
	if err == nil {
		err = checkWrite(call, item, o)
	}
	if err != nil {
		return nil, err
	}
	r.AsGiven, r.CompleteMetadata, r.Trace = o.AsGiven, o.CompleteMetadata, o.Trace
	brief := o.View == ViewNone || o.View == ViewChanged && o.Stage >= StageBody
	r.Namespace, r.Name, r.WantChanges = item.Namespace, item.Name, !brief
	r.Whole, r.WantStatus, r.Stage = call == CallAdmit, o.WithStatus, admission.Stage(o.Stage)
	switch o.Stage {
	case StageBodyAndValidate:
		then := r
		then.Stage, then.Defaulted, then.FieldValidation, then.WantChanges = admission.StageFinish, true, admission.Ignore, false
		r.Then, r.Old, r.OldYAML, r.OldDecoded, r.Status, r.Scale = &then, nil, false, false, false, false
		fallthrough
	case StageBody:
		r.Whole, r.Handler, r.StrictApart, r.Stage = false, false, true, admission.StageDecode
	case StageValidate:
		r.Stage, r.Defaulted = admission.StageFinish, true
	}
	v := &Verdict{Revision: d.compiled.Revision}
	presenter := newPresenter(&r, o.Include)
	var out admission.Outcome
	if call == CallAdmit {
		r.WantObject, r.WantChanged = o.View != ViewNone, o.View == ViewChanged
	}
	if call == CallAdmit && o.Stage != StageValidate {
		out, err = d.compiled.Inner.Admit(ctx, &r)
	} else {
		out, err = d.compiled.Inner.Write(ctx, &r)
	}
	if err == nil && o.WithStatus && out.Rejection != nil {
		v.Status, err = out.Rejection.Status()
	}
	if err != nil {
		err = faultError(err)
		d.observe(ctx, call, item, &out, start, err)
		return nil, err
	}
	v.Allowed, v.Rejection, v.Warnings = out.Rejection == nil, out.Rejection, warnings(out.Warnings)
	v.Pruned, v.Defaulted, v.OmittedChanges = changes(out.Pruned), changes(out.Defaulted), out.OmittedChanges
	v.Violations, v.Next, v.Ratcheted = violations(out.Violations), violations(out.Next), violations(out.Ratcheted)
	v.Traces, v.OmittedTraces = out.Traces, out.OmittedTraces
	if r.StrictApart {
		for i := range out.Strict {
			v.StrictErrors = append(v.StrictErrors, out.Strict[i].Text)
		}
	}
	if !brief {
		d.addHints(ctx, &r, &out, hinted{v.Violations, v.Next, v.Pruned, v.Warnings})
	}
	if v.Allowed {
		v.Object, v.StoredObject, v.OldObject, v.Deletes = out.Object, out.Stored, out.Old, out.Deletes
		v.Unchanged, v.ReadsAsWritten, v.Valid = out.Unchanged, o.Stage >= StageValidate && out.ReadsAsWritten, out.Valid
		if o.View == ViewChanged && !out.Changed && item.Patch == nil {
			v.Object = nil
		}
		v.Presentation, v.Warnings = presenter.result(v.Warnings)
	}
	d.observe(ctx, call, item, &out, start, nil)
	return v, nil
}

// transform implements Prune, Default, Read and Convert.
func (d *Definition) transform(ctx context.Context, call Call, item *Item, o *EvaluationOptions,
	do func(context.Context, *admission.Request) (admission.Outcome, error)) (_ *Transformed, err error) {
	defer Recover(&err)
	start := d.clock()
	r, err := d.request(item, o)
	if err != nil {
		return nil, err
	}
	if !item.OldObject.Absent() || item.OldDecoded || item.Subresource != "" || item.Patch != nil || item.GeneratedName != "" {
		return nil, invalid("an old object, a patch, a subresource and a generated name are for Validate and Admit only: leave them out")
	}
	if r.KeepNulls = o.KeepNulls; r.KeepNulls && call != CallDefault {
		return nil, invalid("KeepNulls is for Default only: leave it out")
	}
	r.Target, r.WantObject, r.WantChanged, r.WantChanges = o.TargetVersion, o.View != ViewNone, true, true
	var presenter *presenter
	if call == CallRead {
		presenter = newPresenter(&r, o.Include)
	}
	out, err := do(ctx, &r)
	if err != nil {
		var f *admission.Fault
		if errors.As(err, &f) {
			out.Violations = f.Violations
		}
		own := faultError(err)
		d.addHints(ctx, &r, &out, hinted{violations: own.Violations})
		err = own
		d.observe(ctx, call, item, &out, start, err)
		return nil, err
	}
	t := &Transformed{
		Object: out.Object, Changed: out.Changed, Pruned: changes(out.Pruned), Defaulted: changes(out.Defaulted),
		OmittedChanges: out.OmittedChanges, Revision: d.compiled.Revision,
	}
	t.Presentation, t.Warnings = presenter.result(warnings(out.Warnings))
	if o.View == ViewChanged && !t.Changed {
		t.Object = nil
	}
	if call == CallPrune {
		d.addHints(ctx, &r, &out, hinted{pruned: t.Pruned})
	}
	d.observe(ctx, call, item, &out, start, nil)
	return t, nil
}

// request checks the options and parts of an item that all calls share.
func (d *Definition) request(item *Item, o *EvaluationOptions) (r admission.Request, err error) {
	r.Version, r.Limits, r.Handler = item.Version, d.compiled.Limits, true
	r.FieldValidation = o.FieldValidation
	body, what := item.Object, "object"
	if item.Patch != nil {
		switch {
		case !body.Absent():
			return r, invalid("there are an object and a patch: the object is the old one with the patch applied, so leave out one of the two")
		case item.Patch.Type != MergePatch && item.Patch.Type != JSONPatch:
			return r, invalid("unknown type of a patch: it is MergePatch or JSONPatch")
		case item.Patch.Document.Absent():
			return r, invalid("there is no document in the patch")
		}
		body, what, r.Patch = item.Patch.Document, "patch", item.Patch.Type
	}
	if r.Body, r.YAML, err = body.text(what); err != nil {
		return r, err
	}
	r.Origin = body.Origin
	switch {
	case o.FieldValidation > FieldValidationStrict:
		err = invalid("unknown field validation: use Warn, Ignore or Strict")
	case o.Trace > TraceAll:
		err = invalid("unknown trace mode: use TraceNone, TraceFailed or TraceAll")
	case o.View > ViewNone:
		err = invalid("unknown view: use ViewFull, ViewChanged or ViewNone")
	}
	return r, err
}

// setUpdate adds the old object and the subresource to the request of a write.
func setUpdate(r *admission.Request, item *Item) (err error) {
	isUpdate := !item.OldObject.Absent()
	switch {
	case item.Subresource != "" && item.Subresource != "status" && item.Subresource != "scale":
		return invalid("custom resources have no subresource %s: it is empty, status or scale", item.Subresource)
	case !isUpdate && item.Subresource != "":
		return invalid("there is no old object: a write to the subresource %s is an update of one", item.Subresource)
	case !isUpdate && item.Patch != nil:
		return invalid("there is no old object: a patch is applied to one, and creates nothing")
	case isUpdate && item.GeneratedName != "":
		return invalid("a generated name is for creations only: leave it out, or the old object")
	case isUpdate:
		r.Status, r.Scale = item.Subresource == "status", item.Subresource == "scale"
		r.OldDecoded, r.OldOrigin = item.OldDecoded, item.OldObject.Origin
		r.Old, r.OldYAML, err = item.OldObject.text("old object")
		return err
	case item.OldDecoded:
		return invalid("there is no old object: OldDecoded says how one was read")
	}
	r.GeneratedName = item.GeneratedName
	return nil
}

// checkWrite rejects options that a write does not have.
func checkWrite(call Call, item *Item, o *EvaluationOptions) error {
	switch {
	case o.Stage > StageBodyAndValidate:
		return invalid("unknown stage: it is All, Decode, Finish, Body, Validate or BodyAndValidate")
	case call != CallAdmit && o.Stage != StageAll:
		return invalid("a stage is for Admit only: Validate judges the whole write")
	case call != CallAdmit && o.Include != PresentationOptions{}:
		return invalid("Include is for Admit and Read only: Validate does not make the object that would be presented")
	case o.Stage >= StageValidate && o.Include != PresentationOptions{}:
		return invalid("stage Validate does not make the object that would be presented: leave out Include, or use Finish")
	case o.KeepNulls:
		return invalid("KeepNulls is for Default only: a write drops nulls as an API server does")
	case call == CallAdmit && o.AsGiven:
		return invalid("AsGiven is for Validate only: what is admitted is pruned, defaulted and prepared")
	case o.Stage == StageBodyAndValidate && item.Subresource == "scale":
		return invalid("stage BodyAndValidate is for bodies of objects: write a Scale with another stage")
	case o.Stage == StageBody && (!item.OldObject.Absent() || item.GeneratedName != ""):
		return invalid("stage Body takes the body alone: leave out the old object and the generated name, which later stages use")
	case item.Patch != nil && (o.Stage == StageFinish || o.Stage >= StageValidate):
		return invalid("a patch is applied in stage Decode: Finish and Validate take the resulting object")
	}
	return nil
}

func changes(list []admission.Change) []FieldChange {
	if len(list) == 0 {
		return nil
	}
	out := make([]FieldChange, len(list))
	for i, c := range list {
		out[i] = FieldChange{Path: c.Text, Pointer: c.Pointer, Value: c.Value}
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
	ctx context.Context, call Call, item *Item, out *admission.Outcome, start time.Time, err error,
) {
	if d.observer == nil {
		return
	}
	version := item.Version
	if out.Version != nil {
		version = out.Version.Name
	}
	d.observer.Evaluated(ctx, EvaluationEvent{
		Call: call, CRD: d.compiled.Inner.Name, Version: version, Duration: time.Since(start), Bytes: item.bytes(), Explained: out.Explained,
		Allowed:    (call == CallValidate || call == CallAdmit) && err == nil && out.Rejection == nil,
		Violations: len(out.Violations), Err: err,
	})
}
