package api

import (
	"context"

	statusv1 "google.golang.org/genproto/googleapis/rpc/status"

	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

type evaluationService struct {
	crdevalv1.UnsafeEvaluationServiceServer
	registry Registry
	limits   Limits
	faults   faults
	streams  *streamSlots
}

// Validate returns the verdict on each object.
func (s *evaluationService) Validate(ctx context.Context, r *crdevalv1.ValidateRequest) (*crdevalv1.ValidateResponse, error) {
	b, err := s.open(ctx, r)
	if err != nil {
		return nil, err
	}
	b.options.AsGiven = r.GetAsGiven()
	// Results without documents are smaller, so they have a type of their own.
	slots := make([]verdictSlot, len(b.items))
	evaluate := func(ctx context.Context, r *resolver, i int) error {
		v, err := r.judge(ctx, b.items[i], b.options, (*engine.Definition).Validate)
		if err != nil {
			return err
		}
		slots[i].set(v)
		if err = b.budget.take(&slots[i].result); err != nil {
			slots[i] = verdictSlot{}
		}
		return err
	}
	if err := b.run(ctx, evaluate, func(i int, st *statusv1.Status) { slots[i].fail(st) }); err != nil {
		return nil, err
	}
	results := make([]*crdevalv1.VerdictResult, len(slots))
	for i := range slots {
		results[i] = &slots[i].result
	}
	return &crdevalv1.ValidateResponse{Results: results}, nil
}

// Admit returns the verdict on each write, with the object for the client and the object for the storage.
func (s *evaluationService) Admit(ctx context.Context, r *crdevalv1.AdmitRequest) (*crdevalv1.AdmitResponse, error) {
	b, err := s.open(ctx, r)
	if err == nil {
		err = b.setAdmission(r.GetStage(), r.GetInclude())
	}
	if err != nil {
		return nil, err
	}
	slots := make([]admitSlot, len(b.items))
	evaluate := func(ctx context.Context, r *resolver, i int) error { return b.admit(ctx, r, b.items[i], &slots[i]) }
	if err := b.run(ctx, evaluate, func(i int, st *statusv1.Status) { slots[i].fail(st) }); err != nil {
		return nil, err
	}
	return &crdevalv1.AdmitResponse{Results: admitResults(slots)}, nil
}

// admit evaluates one write.
func (b *batch) admit(ctx context.Context, r *resolver, m *crdevalv1.EvaluationItem, slot *admitSlot) error {
	if m.GetPatch() != nil && b.options.Stage == engine.StageFinish {
		return invalid("patch", "patch is for ADMISSION_STAGE_DECODE: ADMISSION_STAGE_FINISH takes the object of its result")
	}
	v, err := r.judge(ctx, m, b.options, (*engine.Definition).Admit)
	if err != nil {
		return err
	}
	slot.set(v)
	if err = b.budget.take(&slot.result); err != nil {
		*slot = admitSlot{}
	}
	return err
}

// Prune returns each object without its unknown fields.
func (s *evaluationService) Prune(ctx context.Context, r *crdevalv1.PruneRequest) (*crdevalv1.PruneResponse, error) {
	results, err := s.transform(ctx, r, "", nil, (*engine.Definition).Prune)
	return &crdevalv1.PruneResponse{Results: results}, err
}

// Default returns each object with its defaults.
func (s *evaluationService) Default(ctx context.Context, r *crdevalv1.DefaultRequest) (*crdevalv1.DefaultResponse, error) {
	results, err := s.transform(ctx, r, "", nil, (*engine.Definition).Default)
	return &crdevalv1.DefaultResponse{Results: results}, err
}

// Read returns each object as an API server reads it from its storage.
func (s *evaluationService) Read(ctx context.Context, r *crdevalv1.ReadRequest) (*crdevalv1.ReadResponse, error) {
	results, err := s.transform(ctx, r, r.GetTargetVersion(), r.GetInclude(), (*engine.Definition).Read)
	return &crdevalv1.ReadResponse{Results: results}, err
}

// Convert returns each object at another version.
func (s *evaluationService) Convert(ctx context.Context, r *crdevalv1.ConvertRequest) (*crdevalv1.ConvertResponse, error) {
	if err := required(field{"target_version", r.GetTargetVersion()}); err != nil {
		return nil, err
	}
	results, err := s.transform(ctx, r, r.GetTargetVersion(), nil, (*engine.Definition).Convert)
	return &crdevalv1.ConvertResponse{Results: results}, err
}

// transformation is a method of the engine that returns an object.
type transformation func(*engine.Definition, context.Context, engine.Item, engine.EvaluationOptions) (*engine.Transformed, error)

func (s *evaluationService) transform(
	ctx context.Context, r evaluation, target string, include *crdevalv1.PresentationOptions, f transformation,
) ([]*crdevalv1.TransformResult, error) {
	b, err := s.open(ctx, r)
	if err == nil {
		err = b.setInclude(include)
	}
	if err != nil {
		return nil, err
	}
	b.options.TargetVersion = target
	slots := make([]transformSlot, len(b.items))
	evaluate := func(ctx context.Context, r *resolver, i int) error {
		return b.transform(ctx, r, b.items[i], f, &slots[i])
	}
	if err := b.run(ctx, evaluate, func(i int, st *statusv1.Status) { slots[i].fail(st) }); err != nil {
		return nil, err
	}
	return transformResults(slots), nil
}

// transform evaluates one object.
func (b *batch) transform(
	ctx context.Context, r *resolver, m *crdevalv1.EvaluationItem, f transformation, slot *transformSlot,
) error {
	d, item, err := r.prepare(ctx, m)
	if err != nil {
		return err
	}
	t, err := f(d, ctx, item, b.options)
	rejected := rejectionIn(err)
	switch {
	case err == nil:
		slot.set(t)
	case rejected != nil:
		slot.message.Rejection, slot.message.Revision = rejected, d.Revision()
	default:
		return err
	}
	slot.outcome.Transformed = &slot.message
	slot.result.Result = &slot.outcome
	if err = b.budget.take(&slot.result); err != nil {
		*slot = transformSlot{}
	}
	return err
}

// A documentSlot is preallocated memory for a Document of a response.
type documentSlot struct {
	document crdevalv1.Document
	json     crdevalv1.Document_Json
}

// set returns the Document of a text; nil for nil.
func (s *documentSlot) set(text []byte) *crdevalv1.Document {
	if text == nil {
		return nil
	}
	s.json.Json = text
	s.document.Content = &s.json
	return &s.document
}

// A verdictSlot is preallocated memory for a verdict without documents. A batch allocates all its slots at once.
type verdictSlot struct {
	result  crdevalv1.VerdictResult
	outcome crdevalv1.VerdictResult_Verdict
	verdict crdevalv1.Verdict
}

func (slot *verdictSlot) set(v *engine.Verdict) {
	m := &slot.verdict
	m.Allowed, m.Revision, m.Rejection = v.Allowed, v.Revision, rejection(v.Rejection)
	m.Violations, m.Ratcheted, m.Warnings = violations(v.Violations), violations(v.Ratcheted), allValid(v.Warnings)
	m.Changes, m.RuleTraces = changes(v.Pruned, v.Defaulted), ruleTraces(v.Traces, v.OmittedTraces)
	if m.Rejection != nil {
		m.Rejection.Status = json(v.Status)
	}
	slot.outcome.Verdict = m
	slot.result.Result = &slot.outcome
}

func (slot *verdictSlot) fail(st *statusv1.Status) {
	slot.result.Result = &crdevalv1.VerdictResult_Error{Error: st}
}

// An admitSlot is preallocated memory for a verdict of Admit.
type admitSlot struct {
	verdictSlot
	object, stored documentSlot
}

func (slot *admitSlot) set(v *engine.Verdict) {
	slot.verdictSlot.set(v)
	m := &slot.verdict
	m.Object, m.StoredObject, m.OldObject = slot.object.set(v.Object), slot.stored.set(v.StoredObject), json(v.OldObject)
	m.Deletes, m.Presentation = v.Deletes, presentation(v.Presentation)
}

func admitResults(slots []admitSlot) []*crdevalv1.VerdictResult {
	results := make([]*crdevalv1.VerdictResult, len(slots))
	for i := range slots {
		results[i] = &slots[i].result
	}
	return results
}

// A transformSlot is preallocated memory for an object of a response.
type transformSlot struct {
	result  crdevalv1.TransformResult
	outcome crdevalv1.TransformResult_Transformed
	message crdevalv1.TransformedObject
	object  documentSlot
}

func (slot *transformSlot) set(t *engine.Transformed) {
	m := &slot.message
	m.Changed, m.Revision, m.Warnings, m.Changes = t.Changed, t.Revision, allValid(t.Warnings), changes(t.Pruned, t.Defaulted)
	m.Object, m.Presentation = slot.object.set(t.Object), presentation(t.Presentation)
}

func (slot *transformSlot) fail(st *statusv1.Status) {
	slot.result.Result = &crdevalv1.TransformResult_Error{Error: st}
}

func transformResults(slots []transformSlot) []*crdevalv1.TransformResult {
	results := make([]*crdevalv1.TransformResult, len(slots))
	for i := range slots {
		results[i] = &slots[i].result
	}
	return results
}
