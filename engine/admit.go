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
func (d *Definition) write(ctx context.Context, call Call, item *Item, o *EvaluationOptions) (*Verdict, error) {
	start := d.clock()
	r, err := d.request(item, o)
	if err == nil {
		err = update(&r, item)
	}
	if err != nil {
		return nil, err
	}
	r.AsGiven, r.CompleteMetadata, r.Trace = o.AsGiven, o.CompleteMetadata, rule.Tracing(o.Trace)
	r.Namespace, r.Name, r.WantChanges = item.Namespace, item.Name, o.View != ViewVerdict
	r.WantObject = call == CallAdmit && o.View != ViewVerdict
	r.WantChanged = call == CallAdmit && o.View == ViewChanged
	var out admission.Outcome
	if r.Old != nil {
		out, err = d.inner.Update(ctx, &r, d.convert)
	} else {
		out, err = d.inner.Create(ctx, &r)
	}
	if err != nil {
		err = faultError(err)
		d.observe(ctx, call, item, &out, start, err)
		return nil, err
	}
	v := &Verdict{
		Allowed: out.Refusal == nil, Refusal: refusalOf(out.Refusal), Warnings: out.Warnings,
		Pruned: changes(out.Pruned), Defaulted: changes(out.Defaulted), Revision: d.revision,
	}
	v.Violations, v.Forgiven = violations(out.Violations), violations(out.Forgiven)
	v.Traces, v.OmittedTraces = tracesOf(&out), out.OmittedTraces
	if v.Allowed {
		v.Object = out.Object
	}
	d.observe(ctx, call, item, &out, start, nil)
	return v, nil
}
