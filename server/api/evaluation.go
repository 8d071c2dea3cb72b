package api

import (
	"context"

	statusv1 "google.golang.org/genproto/googleapis/rpc/status"

	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// evaluationService answers the evaluation calls, each a batch.
type evaluationService struct {
	crdevalv1.UnsafeEvaluationServiceServer
	registry Registry
	limits   Limits
	faults   faults
}

// Validate answers the verdict on each object.
func (s *evaluationService) Validate(ctx context.Context, r *crdevalv1.ValidateRequest) (*crdevalv1.ValidateResponse, error) {
	b, err := s.open(ctx, r)
	if err != nil {
		return nil, s.faults.call(ctx, err)
	}
	b.options.AsGiven = r.GetAsGiven()
	// One allocation holds what every result needs; what only some need comes on top.
	type slot struct {
		result  crdevalv1.VerdictResult
		outcome crdevalv1.VerdictResult_Verdict
		verdict crdevalv1.Verdict
	}
	slots := make([]slot, len(b.items))
	evaluate := func(ctx context.Context, r *resolver, i int) error {
		v, err := r.validate(ctx, b.items[i], b.options)
		if err != nil {
			return err
		}
		at := &slots[i]
		at.verdict.Allowed, at.verdict.Revision = v.Allowed, v.Revision
		at.verdict.Refusal, at.verdict.Violations, at.verdict.Warnings = refusal(v.Refusal), violations(v.Violations), allValid(v.Warnings)
		at.verdict.Pruned, at.verdict.Defaulted, at.verdict.Forgiven = changes(v.Pruned), changes(v.Defaulted), violations(v.Forgiven)
		at.verdict.Traces, at.verdict.OmittedTraces = traces(v.Traces), int32(v.OmittedTraces)
		at.outcome.Verdict = &at.verdict
		at.result.Result = &at.outcome
		if err := b.budget.take(&at.result); err != nil {
			at.verdict.Reset()
			return err
		}
		return nil
	}
	fail := func(i int, st *statusv1.Status) { slots[i].result.Result = &crdevalv1.VerdictResult_Error{Error: st} }
	if err := b.run(ctx, evaluate, fail); err != nil {
		return nil, s.faults.call(ctx, err)
	}
	answer := &crdevalv1.ValidateResponse{Results: make([]*crdevalv1.VerdictResult, len(slots))}
	for i := range slots {
		answer.Results[i] = &slots[i].result
	}
	return answer, nil
}

// Prune answers each object pruned.
func (s *evaluationService) Prune(ctx context.Context, r *crdevalv1.PruneRequest) (*crdevalv1.PruneResponse, error) {
	results, err := s.transform(ctx, r, "", (*engine.Definition).Prune)
	if err != nil {
		return nil, s.faults.call(ctx, err)
	}
	return &crdevalv1.PruneResponse{Results: results}, nil
}

// Default answers each object with its defaults.
func (s *evaluationService) Default(ctx context.Context, r *crdevalv1.DefaultRequest) (*crdevalv1.DefaultResponse, error) {
	results, err := s.transform(ctx, r, "", (*engine.Definition).Default)
	if err != nil {
		return nil, s.faults.call(ctx, err)
	}
	return &crdevalv1.DefaultResponse{Results: results}, nil
}

// Read answers each object as an API server reads it from its storage.
func (s *evaluationService) Read(ctx context.Context, r *crdevalv1.ReadRequest) (*crdevalv1.ReadResponse, error) {
	results, err := s.transform(ctx, r, r.GetTargetVersion(), (*engine.Definition).Read)
	if err != nil {
		return nil, s.faults.call(ctx, err)
	}
	return &crdevalv1.ReadResponse{Results: results}, nil
}

// Convert answers each object converted.
func (s *evaluationService) Convert(ctx context.Context, r *crdevalv1.ConvertRequest) (*crdevalv1.ConvertResponse, error) {
	if err := needed(field{"target_version", r.GetTargetVersion()}); err != nil {
		return nil, s.faults.call(ctx, err)
	}
	results, err := s.transform(ctx, r, r.GetTargetVersion(), (*engine.Definition).Convert)
	if err != nil {
		return nil, s.faults.call(ctx, err)
	}
	return &crdevalv1.ConvertResponse{Results: results}, nil
}

// transformation is a call of the engine that answers an object.
type transformation func(*engine.Definition, context.Context, engine.Item, engine.EvaluationOptions) (*engine.Transformed, error)

// transform runs one of them over a batch.
func (s *evaluationService) transform(ctx context.Context, r evaluation, target string, f transformation) ([]*crdevalv1.TransformedResult, error) {
	b, err := s.open(ctx, r)
	if err != nil {
		return nil, err
	}
	b.options.TargetVersion = target
	type slot struct {
		result      crdevalv1.TransformedResult
		outcome     crdevalv1.TransformedResult_Transformed
		transformed crdevalv1.Transformed
		object      crdevalv1.Document
		json        crdevalv1.Document_Json
	}
	slots := make([]slot, len(b.items))
	evaluate := func(ctx context.Context, r *resolver, i int) error {
		d, item, err := r.prepare(ctx, b.items[i])
		if err != nil {
			return err
		}
		at := &slots[i]
		switch t, err := f(d, ctx, item, b.options); {
		case err == nil:
			at.transformed.Changed, at.transformed.Revision, at.transformed.Warnings = t.Changed, t.Revision, allValid(t.Warnings)
			at.transformed.Pruned, at.transformed.Defaulted = changes(t.Pruned), changes(t.Defaulted)
			if t.Object != nil {
				at.json.Json = t.Object
				at.object.Content = &at.json
				at.transformed.Object = &at.object
			}
		case refused(err) != nil:
			at.transformed.Refusal, at.transformed.Revision = refusal(refused(err)), d.Revision()
		default:
			return err
		}
		at.outcome.Transformed = &at.transformed
		at.result.Result = &at.outcome
		if err := b.budget.take(&at.result); err != nil {
			at.transformed.Reset()
			at.json.Json = nil
			return err
		}
		return nil
	}
	fail := func(i int, st *statusv1.Status) {
		slots[i].result.Result = &crdevalv1.TransformedResult_Error{Error: st}
	}
	if err := b.run(ctx, evaluate, fail); err != nil {
		return nil, err
	}
	results := make([]*crdevalv1.TransformedResult, len(slots))
	for i := range slots {
		results[i] = &slots[i].result
	}
	return results, nil
}
