package engine

import (
	"context"
	"errors"
	"time"

	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/internal/value"
)

// Validate answers whether the API server would accept the object: on create, or if the item has an old object on update, of the
// whole or of the status alone. What the API server would answer is a Verdict, unreadable JSON included; the error is an *Error for
// what could not be evaluated.
func (d *Definition) Validate(ctx context.Context, item Item, o EvaluationOptions) (*Verdict, error) {
	return d.write(ctx, CallValidate, &item, &o)
}

func violations(found []violation.Violation) []Violation {
	if len(found) == 0 {
		return nil
	}
	list := make([]Violation, len(found))
	texts := new(value.Slab)
	for i := range found {
		list[i] = violationOf(&found[i], found[i].Position, texts)
	}
	return list
}

// update adds the old object and the subresource to the request of a Validate or an Admit.
func update(r *admission.Request, item *Item) error {
	invalid := func(reason Reason, text string) error { return &Error{Reason: reason, Message: text} }
	switch {
	case item.Subresource != "" && item.Subresource != "status" && item.Subresource != "scale":
		return invalid(ReasonInvalidArgument, "custom resources have no subresource "+item.Subresource+": it is empty, status or scale")
	case item.OldObject.Absent() && item.Subresource != "":
		return invalid(ReasonInvalidArgument, "there is no old object: a write to the subresource "+item.Subresource+" is an update of one")
	case item.OldObject.Absent() && item.Patch != nil:
		return invalid(ReasonInvalidArgument, "there is no old object: a patch is applied to one, and creates nothing")
	case item.OldObject.Absent():
		r.GeneratedName = item.GeneratedName
		return nil
	case item.GeneratedName != "":
		return invalid(ReasonInvalidArgument, "a generated name is for creations alone: leave it out, or the old object")
	case item.OldObject.JSON != nil && item.OldObject.YAML != nil:
		return bothSet("old object")
	}
	r.Status, r.Scale = item.Subresource == "status", item.Subresource == "scale"
	if r.Old = item.OldObject.JSON; item.OldObject.YAML != nil {
		r.Old, r.OldYAML = item.OldObject.YAML, true
	}
	return nil
}

// Prune returns the object with its metadata coerced and everything removed that the schema does not know. Nothing else
// changes: nulls stay, nothing is defaulted.
func (d *Definition) Prune(ctx context.Context, item Item, o EvaluationOptions) (*Transformed, error) {
	return d.transform(ctx, CallPrune, &item, &o, d.inner.Prune)
}

// Default returns the object with nulls of non-nullable fields dropped and defaults filled in. Nothing is pruned, metadata
// stays as it is.
func (d *Definition) Default(ctx context.Context, item Item, o EvaluationOptions) (*Transformed, error) {
	return d.transform(ctx, CallDefault, &item, &o, d.inner.Default)
}

// Read returns what the API server makes of bytes from its storage: malformed metadata dropped rather than refused,
// generation repaired, pruned, nulls dropped, defaulted at the object's own version; then converted to the target version,
// or left at its own, and coerced to that version's schema, without defaulting again.
func (d *Definition) Read(ctx context.Context, item Item, o EvaluationOptions) (*Transformed, error) {
	return d.transform(ctx, CallRead, &item, &o, func(ctx context.Context, r *admission.Request) (admission.Outcome, error) {
		return d.inner.Read(ctx, r, d.convert)
	})
}

// Convert returns the object converted to the target version and coerced to that version's schema.
func (d *Definition) Convert(ctx context.Context, item Item, o EvaluationOptions) (*Transformed, error) {
	if o.TargetVersion == "" {
		return nil, &Error{Reason: ReasonInvalidArgument, Message: "there is no target version: say which of the CRD's versions to convert to"}
	}
	return d.transform(ctx, CallConvert, &item, &o, func(ctx context.Context, r *admission.Request) (admission.Outcome, error) {
		return d.inner.Convert(ctx, r, d.convert)
	})
}

type pipeline func(context.Context, *admission.Request) (admission.Outcome, error)

func (d *Definition) transform(ctx context.Context, call Call, item *Item, o *EvaluationOptions, do pipeline) (_ *Transformed, err error) {
	defer recovered(&err)
	start := d.clock()
	r, err := d.request(item, o)
	if err == nil && (!item.OldObject.Absent() || item.Subresource != "" || item.Patch != nil || item.GeneratedName != "") {
		err = &Error{Reason: ReasonInvalidArgument, Message: "an old object, a patch, a subresource and a generated name are for Validate and Admit alone: leave them out"}
	}
	if err != nil {
		return nil, err
	}
	r.Target, r.WantObject, r.WantChanged, r.WantChanges = o.TargetVersion, o.View != ViewNone, true, true
	shown := (*shown)(nil)
	if call == CallRead {
		shown = o.Include.show(&r)
	}
	out, err := do(ctx, &r)
	if err != nil {
		err = faultError(err)
		d.observe(ctx, call, item, &out, start, err)
		return nil, err
	}
	t := &Transformed{
		Object: out.Object, Changed: out.Changed, Pruned: changes(out.Pruned), Defaulted: changes(out.Defaulted),
		Warnings: out.Warnings, Revision: d.revision,
	}
	t.Presentation, t.Warnings = shown.tell(t.Warnings)
	if o.View == ViewChanged && !t.Changed {
		t.Object = nil
	}
	if call == CallPrune {
		d.hints(ctx, &r, &out, nil, t.Pruned)
	}
	d.observe(ctx, call, item, &out, start, nil)
	return t, nil
}

// request checks an item as far as every call does.
func (d *Definition) request(item *Item, o *EvaluationOptions) (admission.Request, error) {
	r := admission.Request{Version: item.Version, Limits: d.limits, Handler: true, FieldValidation: admission.FieldValidation(o.FieldValidation)}
	invalid := func(text string) (admission.Request, error) {
		return r, &Error{Reason: ReasonInvalidArgument, Message: text}
	}
	body := item.Object
	if item.Patch != nil {
		if err := item.patched(); err != nil {
			return r, err
		}
		body, r.Patch = item.Patch.Document, patchTypes[item.Patch.Type]
	}
	switch {
	case body.Absent():
		return invalid("there is no object")
	case item.Object.JSON != nil && item.Object.YAML != nil:
		return r, bothSet("object")
	case o.FieldValidation > FieldValidationStrict:
		return invalid("unknown field validation: it is Warn, Ignore or Strict")
	case o.Trace > TraceAll:
		return invalid("unknown trace: it is None, Failed or All")
	case o.View > ViewNone:
		return invalid("unknown view: it is Object, Changed or Verdict")
	case body.YAML != nil:
		r.Body, r.YAML = body.YAML, true
	default:
		r.Body = body.JSON
	}
	return r, nil
}

// faultError gives a Fault its public form.
func faultError(err error) error {
	var f *admission.Fault
	if !errors.As(err, &f) {
		return &Error{Reason: ReasonInternal, Message: err.Error(), Err: err}
	}
	e := &Error{Reason: Reason(f.Code), Message: f.Text, Rejection: rejection(f.Rejection), Err: f.Cause}
	if f.Limit != nil {
		e.Limit, e.Actual = f.Limit.Maximum, f.Limit.Actual
	}
	if f.Position != (Position{}) {
		e.Position = &f.Position
	}
	return e
}

func rejection(r *admission.Rejection) *Rejection {
	if r == nil {
		return nil
	}
	return &Rejection{Code: r.Code, Reason: r.Reason, Message: r.Message}
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

func (d *Definition) observe(ctx context.Context, call Call, item *Item, out *admission.Outcome, start time.Time, err error) {
	if d.observer == nil {
		return
	}
	version := item.Version
	if out.Version != nil {
		version = out.Version.Name
	}
	d.observer.Evaluated(ctx, EvaluationEvent{
		Call: call, CRD: d.inner.Name, Version: version, Duration: time.Since(start), Bytes: item.bytes(),
		Explained: out.Explained, Allowed: (call == CallValidate || call == CallAdmit) && err == nil && out.Rejection == nil, Violations: len(out.Violations), Err: err,
	})
}
