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
	streams  *streams
}

// Validate answers the verdict on each object.
func (s *evaluationService) Validate(ctx context.Context, r *crdevalv1.ValidateRequest) (*crdevalv1.ValidateResponse, error) {
	b, err := s.open(ctx, r)
	if err != nil {
		return nil, s.faults.call(ctx, err)
	}
	b.options.AsGiven = r.GetAsGiven()
	slots := make([]judged, len(b.items))
	evaluate := func(ctx context.Context, r *resolver, i int) error {
		v, err := r.judge(ctx, b.items[i], b.options, (*engine.Definition).Validate)
		if err != nil {
			return err
		}
		at := &slots[i]
		at.set(v)
		if err := b.budget.take(&at.result); err != nil {
			at.verdict.Reset()
			return err
		}
		return nil
	}
	fail := func(i int, st *statusv1.Status) { slots[i].fail(st) }
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
	results, err := s.transform(ctx, r, "", nil, (*engine.Definition).Prune)
	if err != nil {
		return nil, s.faults.call(ctx, err)
	}
	return &crdevalv1.PruneResponse{Results: results}, nil
}

// Default answers each object with its defaults.
func (s *evaluationService) Default(ctx context.Context, r *crdevalv1.DefaultRequest) (*crdevalv1.DefaultResponse, error) {
	results, err := s.transform(ctx, r, "", nil, (*engine.Definition).Default)
	if err != nil {
		return nil, s.faults.call(ctx, err)
	}
	return &crdevalv1.DefaultResponse{Results: results}, nil
}

// Read answers each object as an API server reads it from its storage.
func (s *evaluationService) Read(ctx context.Context, r *crdevalv1.ReadRequest) (*crdevalv1.ReadResponse, error) {
	results, err := s.transform(ctx, r, r.GetTargetVersion(), r.GetInclude(), (*engine.Definition).Read)
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
	results, err := s.transform(ctx, r, r.GetTargetVersion(), nil, (*engine.Definition).Convert)
	if err != nil {
		return nil, s.faults.call(ctx, err)
	}
	return &crdevalv1.ConvertResponse{Results: results}, nil
}

// transformation is a call of the engine that answers an object.
type transformation func(*engine.Definition, context.Context, engine.Item, engine.EvaluationOptions) (*engine.Transformed, error)

// transform runs one of them over a batch.
func (s *evaluationService) transform(
	ctx context.Context, r evaluation, target string, include *crdevalv1.PresentationOptions, f transformation,
) ([]*crdevalv1.TransformResult, error) {
	b, err := s.open(ctx, r)
	if err == nil {
		err = b.takeInclude(include)
	}
	if err != nil {
		return nil, err
	}
	b.options.TargetVersion = target
	slots := make([]transformed, len(b.items))
	evaluate := func(ctx context.Context, r *resolver, i int) error {
		return b.transform(ctx, r, b.items[i], f, &slots[i])
	}
	fail := func(i int, st *statusv1.Status) { slots[i].fail(st) }
	if err := b.run(ctx, evaluate, fail); err != nil {
		return nil, err
	}
	results := make([]*crdevalv1.TransformResult, len(slots))
	for i := range slots {
		results[i] = &slots[i].result
	}
	return results, nil
}

// transform evaluates one object into its place in the answer.
func (b *batch) transform(ctx context.Context, r *resolver, m *crdevalv1.EvaluationItem, f transformation, at *transformed) error {
	d, item, err := r.prepare(ctx, m)
	if err != nil {
		return err
	}
	switch t, err := f(d, ctx, item, b.options); {
	case err == nil:
		at.set(t)
	case refused(err) != nil:
		at.message.Rejection, at.message.Revision = refusal(refused(err)), d.Revision()
	default:
		return err
	}
	at.outcome.Transformed = &at.message
	at.result.Result = &at.outcome
	if err := b.budget.take(&at.result); err != nil {
		at.message.Reset()
		at.object = documentSlot{}
		return err
	}
	return nil
}

// transformed is the place of an object in an answer.
type transformed struct {
	result  crdevalv1.TransformResult
	outcome crdevalv1.TransformResult_Transformed
	message crdevalv1.TransformedObject
	object  documentSlot
}

// set spells what became of the object.
func (at *transformed) set(t *engine.Transformed) {
	m := &at.message
	m.Changed, m.Revision, m.Warnings = t.Changed, t.Revision, allValid(t.Warnings)
	m.Changes = changes(t.Pruned, t.Defaulted)
	m.Object, m.Presentation = at.object.set(t.Object), presented(t.Presentation)
}

// fail makes it an error.
func (at *transformed) fail(st *statusv1.Status) {
	at.result.Result = &crdevalv1.TransformResult_Error{Error: st}
}
