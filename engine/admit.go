package engine

import (
	"context"

	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/rule"
)

// Admit is the whole write path: all that an API server does between decoding a request and storing the object, but for what only a server can
// do. What the API server would answer is a Verdict, unreadable JSON included; the error is an *Error for what could not be evaluated.
func (d *Definition) Admit(ctx context.Context, item Item, o EvaluationOptions) (*Verdict, error) {
	return d.write(ctx, CallAdmit, &item, &o)
}

// write is Validate or Admit.
func (d *Definition) write(ctx context.Context, call Call, item *Item, o *EvaluationOptions) (_ *Verdict, err error) {
	defer recovered(&err)
	start := d.clock()
	r, err := d.request(item, o)
	if err == nil {
		err = update(&r, item)
	}
	if err == nil {
		err = o.fitWrite(call)
	}
	if err == nil && item.Patch != nil && o.Stage == StageFinish {
		err = &Error{Reason: ReasonInvalidArgument, Message: "a patch is applied in stage Decode: Finish takes the object that this answers"}
	}
	if err != nil {
		return nil, err
	}
	r.AsGiven, r.CompleteMetadata, r.Trace = o.AsGiven, o.CompleteMetadata, rule.Tracing(o.Trace)
	r.Namespace, r.Name, r.WantChanges = item.Namespace, item.Name, o.View != ViewNone
	r.Whole, r.WantStatus, r.Stage = call == CallAdmit, o.WithStatus, admission.Stage(o.Stage)
	v := &Verdict{Revision: d.revision}
	shown := o.Include.show(&r)
	var out admission.Outcome
	switch {
	case call == CallAdmit:
		r.WantObject, r.WantChanged = o.View != ViewNone, o.View == ViewChanged
		out, err = d.inner.Admit(ctx, &r, d.convert)
	case r.Old != nil:
		out, err = d.inner.Update(ctx, &r, d.convert)
	default:
		out, err = d.inner.Create(ctx, &r)
	}
	if err == nil && o.WithStatus && out.Rejection != nil {
		v.Status, err = out.Rejection.Status()
	}
	if err != nil {
		err = faultError(err)
		d.observe(ctx, call, item, &out, start, err)
		return nil, err
	}
	v.Allowed, v.Rejection, v.Warnings = out.Rejection == nil, rejection(out.Rejection), out.Warnings
	v.Pruned, v.Defaulted = changes(out.Pruned), changes(out.Defaulted)
	v.Violations, v.Ratcheted = violations(out.Violations), violations(out.Ratcheted)
	v.Traces, v.OmittedTraces = tracesOf(&out), out.OmittedTraces
	if o.View != ViewNone {
		d.hints(ctx, &r, &out, v.Violations, v.Pruned)
	}
	if v.Allowed {
		v.Object, v.StoredObject, v.OldObject, v.Deletes = out.Object, out.Stored, out.Old, out.Deletes
		if o.View == ViewChanged && !out.Changed && item.Patch == nil {
			v.Object = nil
		}
		v.Presentation, v.Warnings = shown.tell(v.Warnings)
	}
	d.observe(ctx, call, item, &out, start, nil)
	return v, nil
}

// fitWrite refuses options that a call has no use for.
func (o *EvaluationOptions) fitWrite(call Call) error {
	invalid := func(text string) error { return &Error{Reason: ReasonInvalidArgument, Message: text} }
	switch {
	case o.Stage > StageFinish:
		return invalid("unknown stage: it is Whole, Decode or Finish")
	case call != CallAdmit && o.Stage != StageAll:
		return invalid("a stage is for Admit alone: Validate judges the whole write")
	case call != CallAdmit && o.Include != PresentationOptions{}:
		return invalid("what Include asks for is shown by Admit and Read: Validate makes no object that it could be shown of")
	case call == CallAdmit && o.AsGiven:
		return invalid("AsGiven is for Validate alone: what is admitted is pruned, defaulted and prepared")
	}
	return nil
}
