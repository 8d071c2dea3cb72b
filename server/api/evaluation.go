package api

import (
	"context"
	"time"

	statusv1 "google.golang.org/genproto/googleapis/rpc/status"

	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/flow"
)

type evaluationService struct {
	crdevalv1.UnsafeEvaluationServiceServer
	registry Registry
	limits   Limits
	faults   faults
	streams  *streamSlots

	scheduler *flow.Scheduler
}

// Validate returns the verdict on each object.
func (s *evaluationService) Validate(ctx context.Context, r *crdevalv1.ValidateRequest) (*crdevalv1.ValidateResponse, error) {
	results, err := evaluateAll(ctx, s, r, func(b *batch) error {
		b.options.asGiven = r.GetAsGiven()
		return nil
	}, validating)
	return &crdevalv1.ValidateResponse{Results: results}, err
}

// Admit returns the verdict on each write, with the object for the client and the object for the storage.
func (s *evaluationService) Admit(ctx context.Context, r *crdevalv1.AdmitRequest) (*crdevalv1.AdmitResponse, error) {
	results, err := evaluateAll(ctx, s, r, func(b *batch) error {
		return b.setAdmission(r.GetStage(), r.GetInclude())
	}, admitting)
	return &crdevalv1.AdmitResponse{Results: results}, err
}

// Prune returns each object without its unknown fields.
func (s *evaluationService) Prune(ctx context.Context, r *crdevalv1.PruneRequest) (*crdevalv1.PruneResponse, error) {
	results, err := s.transform(ctx, r, "", nil, prune)
	return &crdevalv1.PruneResponse{Results: results}, err
}

// Default returns each object with its defaults.
func (s *evaluationService) Default(ctx context.Context, r *crdevalv1.DefaultRequest) (*crdevalv1.DefaultResponse, error) {
	results, err := evaluateAll(ctx, s, r, func(b *batch) error {
		b.options.keepNulls = r.GetKeepNulls()
		return nil
	}, transforming(setDefaults))
	return &crdevalv1.DefaultResponse{Results: results}, err
}

// Read returns each object as an API server reads it from its storage.
func (s *evaluationService) Read(ctx context.Context, r *crdevalv1.ReadRequest) (*crdevalv1.ReadResponse, error) {
	results, err := s.transform(ctx, r, r.GetTargetVersion(), r.GetInclude(), read)
	return &crdevalv1.ReadResponse{Results: results}, err
}

// Convert returns each object at another version.
func (s *evaluationService) Convert(ctx context.Context, r *crdevalv1.ConvertRequest) (*crdevalv1.ConvertResponse, error) {
	if err := required("target_version", r.GetTargetVersion()); err != nil {
		return nil, err
	}
	results, err := s.transform(ctx, r, r.GetTargetVersion(), nil, convertTo)
	return &crdevalv1.ConvertResponse{Results: results}, err
}

func (s *evaluationService) transform(
	ctx context.Context, r evaluation[*crdevalv1.ObjectItem], target string, include *crdevalv1.PresentationOptions, f transformation,
) ([]*crdevalv1.TransformResult, error) {
	return evaluateAll(ctx, s, r, func(b *batch) error {
		b.options.targetVersion = target
		return b.setInclude(include)
	}, transforming(f))
}

// An evaluator evaluates items of type I. R is the message of a result.
type evaluator[I item, R any] struct {
	evaluate func(b *batch, ctx context.Context, r *resolver, m I) (*R, error)
	fail     func(*statusv1.Status) *R // returns the result of an item that could not be evaluated
}

// evaluateAll evaluates all items of a request. setOptions sets the options that only this call has.
func evaluateAll[I item, R any](
	ctx context.Context, s *evaluationService, r evaluation[I], setOptions func(*batch) error, e evaluator[I, R],
) ([]*R, error) {
	b, err := open(ctx, s, r)
	if err == nil {
		err = setOptions(b)
	}
	if err != nil {
		return nil, err
	}
	items := ctx
	if deadline, ok := ctx.Deadline(); ok {
		left := time.Until(deadline)
		var cancel context.CancelFunc
		items, cancel = context.WithDeadline(ctx, deadline.Add(-min(left/sendShare, maxSendTime)))
		defer cancel()
	}
	all := r.GetItems()
	results := make([]*R, len(all))
	if err := b.run(items, s.scheduler, len(all), func(ctx context.Context, r *resolver, i int) (err error) {
		results[i], err = e.evaluate(b, ctx, r, all[i])
		return err
	}, func(r *resolver, i int, err error) {
		results[i] = e.fail(b.boundedStatus(ctx, b.addVersion(r, all[i], err)))
	}); err != nil {
		return nil, err
	}
	return results, context.Cause(ctx)
}

// judging returns the evaluator of Validate or Admit.
func judging(f judgement) evaluator[*crdevalv1.WriteItem, crdevalv1.VerdictResult] {
	return evaluator[*crdevalv1.WriteItem, crdevalv1.VerdictResult]{
		evaluate: func(
			b *batch, ctx context.Context, r *resolver, m *crdevalv1.WriteItem,
		) (*crdevalv1.VerdictResult, error) {
			w, typed, err := writeOf(r.origins, m)
			if err != nil {
				return nil, err
			}
			v, err := r.judge(ctx, m, typed, func(ctx context.Context, d *engine.Definition) (*engine.Verdict, error) {
				return f(ctx, d, w, &b.options)
			})
			if err != nil {
				return nil, err
			}
			v.Warnings = withPlace(r.origins, bodyOf(m), v.Warnings)
			return b.verdictResult(v)
		},
		fail: func(st *statusv1.Status) *crdevalv1.VerdictResult {
			return &crdevalv1.VerdictResult{Result: &crdevalv1.VerdictResult_Error{Error: st}}
		},
	}
}

var (
	validating = judging(validate)
	admitting  = judging(func(ctx context.Context, d *engine.Definition, w engine.Write, o *options) (*engine.Verdict, error) {
		return o.admit(ctx, d, w, o)
	})
)

// transforming returns the evaluator of the other calls.
func transforming(f transformation) evaluator[*crdevalv1.ObjectItem, crdevalv1.TransformResult] {
	return evaluator[*crdevalv1.ObjectItem, crdevalv1.TransformResult]{
		evaluate: func(
			b *batch, ctx context.Context, r *resolver, m *crdevalv1.ObjectItem,
		) (*crdevalv1.TransformResult, error) {
			d, object, err := r.prepare(ctx, m)
			if err != nil {
				return nil, err
			}
			t, err := f(ctx, d, object, m.GetVersion(), &b.options)
			transformed := &crdevalv1.TransformedObject{Revision: d.Revision(), Rejection: rejectionIn(err)}
			switch {
			case err == nil:
				t.Warnings = withPlace(r.origins, m.GetObject(), t.Warnings)
				if err := b.budget.prepare(0, t.Pruned, t.Defaulted); err != nil {
					return nil, err
				}
				transformed.Changed, transformed.Warnings, transformed.Object = t.Changed, warnings(t.Warnings), JSON(t.Object)
				transformed.Changes, transformed.Presentation = changes(t.Pruned, t.Defaulted, t.OmittedChanges), presentation(t.Presentation)
			case transformed.Rejection == nil:
				return nil, err
			default:
				transformed.Violations = violationsIn(err)
			}
			result := &crdevalv1.TransformResult{Result: &crdevalv1.TransformResult_Transformed{Transformed: transformed}}
			return result, b.budget.take(encodedSize(result))
		},
		fail: func(st *statusv1.Status) *crdevalv1.TransformResult {
			return &crdevalv1.TransformResult{Result: &crdevalv1.TransformResult_Error{Error: st}}
		},
	}
}

// A plainResult is a result that has a revision and nothing else. Equal ones of a batch are one message.
type plainResult struct {
	*crdevalv1.VerdictResult
	size int64 // encodedSize
}

// isPlain reports whether the result of a verdict is a plainResult.
func isPlain(v *engine.Verdict) bool {
	return v.Allowed && !v.Deletes && !v.Unchanged && v.Rejection == nil && v.Presentation == nil &&
		len(v.Violations)+len(v.Next) == 0 &&
		len(v.Ratcheted)+len(v.Traces)+v.OmittedTraces+len(v.Warnings)+len(v.Pruned)+len(v.Defaulted)+v.OmittedChanges+len(v.Status) == 0 &&
		v.Object == nil && v.StoredObject == nil && v.OldObject == nil
}

// verdictResult returns the result of a verdict. The error says that it does not fit in the response.
func (b *batch) verdictResult(v *engine.Verdict) (*crdevalv1.VerdictResult, error) {
	if isPlain(v) {
		p := b.plain.Load()
		if p == nil || p.GetVerdict().Revision != v.Revision {
			m := resultOf(&crdevalv1.Verdict{Allowed: true, Revision: v.Revision})
			p = &plainResult{m, encodedSize(m)}
			b.plain.Store(p)
		}
		return p.VerdictResult, b.budget.take(p.size)
	}
	m, err := b.verdict(v)
	if err != nil {
		return nil, err
	}
	result := resultOf(m)
	return result, b.budget.take(encodedSize(result))
}

func resultOf(m *crdevalv1.Verdict) *crdevalv1.VerdictResult {
	return &crdevalv1.VerdictResult{Result: &crdevalv1.VerdictResult_Verdict{Verdict: m}}
}

// verdict returns the message of a verdict. The error says that it does not fit in the response.
func (b *batch) verdict(v *engine.Verdict) (*crdevalv1.Verdict, error) {
	if err := b.budget.prepare(len(v.Violations)+len(v.Next), v.Pruned, v.Defaulted); err != nil {
		return nil, err
	}
	return VerdictMessage(v), nil
}
