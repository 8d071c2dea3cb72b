package api

import (
	"context"
	"time"

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
	slots, err := evaluateAll(ctx, s, r, func(b *batch) error {
		b.options.AsGiven = r.GetAsGiven()
		return nil
	}, judging((*engine.Definition).Validate))
	return &crdevalv1.ValidateResponse{Results: convertAll(slots, (*verdictSlot).message)}, err
}

// Admit returns the verdict on each write, with the object for the client and the object for the storage.
func (s *evaluationService) Admit(ctx context.Context, r *crdevalv1.AdmitRequest) (*crdevalv1.AdmitResponse, error) {
	slots, err := evaluateAll(ctx, s, r, func(b *batch) error {
		return b.setAdmission(r.GetStage(), r.GetInclude())
	}, judging((*engine.Definition).Admit))
	return &crdevalv1.AdmitResponse{Results: convertAll(slots, (*verdictSlot).message)}, err
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
	if err := required("target_version", r.GetTargetVersion()); err != nil {
		return nil, err
	}
	results, err := s.transform(ctx, r, r.GetTargetVersion(), nil, (*engine.Definition).Convert)
	return &crdevalv1.ConvertResponse{Results: results}, err
}

func (s *evaluationService) transform(
	ctx context.Context, r evaluation, target string, include *crdevalv1.PresentationOptions, f transformation,
) ([]*crdevalv1.TransformResult, error) {
	slots, err := evaluateAll(ctx, s, r, func(b *batch) error {
		b.options.TargetVersion = target
		return b.setInclude(include)
	}, transforming(f))
	return convertAll(slots, (*transformSlot).message), err
}

// A slotOf is preallocated memory for a result. A batch allocates all its slots at once.
type slotOf[S any] interface {
	*S
	fail(*statusv1.Status)
}

// An evaluator evaluates one item into its slot.
type evaluator[S any] func(b *batch, ctx context.Context, r *resolver, m *crdevalv1.EvaluationItem, slot *S) error

// evaluateAll evaluates all items of a request. setOptions sets the options that only this call has.
func evaluateAll[S any, P slotOf[S]](
	ctx context.Context, s *evaluationService, r evaluation, setOptions func(*batch) error, f evaluator[S],
) ([]S, error) {
	b, err := s.open(ctx, r)
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
	slots := make([]S, len(b.items))
	b.run(items, func(ctx context.Context, r *resolver, i int) error { return f(b, ctx, r, b.items[i], &slots[i]) },
		func(i int, err error) { P(&slots[i]).fail(b.boundedStatus(ctx, err)) })
	return slots, context.Cause(ctx)
}

// judgement is a method of the engine that returns a verdict.
type judgement func(*engine.Definition, context.Context, engine.Item, engine.EvaluationOptions) (*engine.Verdict, error)

// judging returns the evaluator of Validate or Admit.
func judging(f judgement) evaluator[verdictSlot] {
	return func(b *batch, ctx context.Context, r *resolver, m *crdevalv1.EvaluationItem, slot *verdictSlot) error {
		if m.GetPatch() != nil && b.options.Stage == engine.StageFinish {
			return invalid("patch", "patch needs ADMISSION_STAGE_DECODE: send the resulting object with ADMISSION_STAGE_FINISH")
		}
		v, err := r.judge(ctx, m, b.options, f)
		if err != nil {
			return err
		}
		slot.set(v)
		if err = b.budget.take(&slot.result); err != nil {
			*slot = verdictSlot{}
		}
		return err
	}
}

// transformation is a method of the engine that returns an object.
type transformation func(*engine.Definition, context.Context, engine.Item, engine.EvaluationOptions) (*engine.Transformed, error)

// transforming returns the evaluator of the other calls.
func transforming(f transformation) evaluator[transformSlot] {
	return func(b *batch, ctx context.Context, r *resolver, m *crdevalv1.EvaluationItem, slot *transformSlot) error {
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
			slot.transformed.Rejection, slot.transformed.Revision = rejected, d.Revision()
		default:
			return err
		}
		slot.outcome.Transformed = &slot.transformed
		slot.result.Result = &slot.outcome
		if err = b.budget.take(&slot.result); err != nil {
			*slot = transformSlot{}
		}
		return err
	}
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

// A verdictSlot is the slot of a verdict.
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
	if v.Object != nil || v.StoredObject != nil {
		documents := new([2]documentSlot)
		m.Object, m.StoredObject = documents[0].set(v.Object), documents[1].set(v.StoredObject)
	}
	m.OldObject, m.Deletes, m.Presentation = json(v.OldObject), v.Deletes, presentation(v.Presentation)
	slot.outcome.Verdict = m
	slot.result.Result = &slot.outcome
}

func (slot *verdictSlot) message() *crdevalv1.VerdictResult { return &slot.result }

func (slot *verdictSlot) fail(st *statusv1.Status) {
	slot.result.Result = &crdevalv1.VerdictResult_Error{Error: st}
}

// A transformSlot is the slot of an object.
type transformSlot struct {
	result      crdevalv1.TransformResult
	outcome     crdevalv1.TransformResult_Transformed
	transformed crdevalv1.TransformedObject
	object      documentSlot
}

func (slot *transformSlot) set(t *engine.Transformed) {
	m := &slot.transformed
	m.Changed, m.Revision, m.Warnings, m.Changes = t.Changed, t.Revision, allValid(t.Warnings), changes(t.Pruned, t.Defaulted)
	m.Object, m.Presentation = slot.object.set(t.Object), presentation(t.Presentation)
}

func (slot *transformSlot) message() *crdevalv1.TransformResult { return &slot.result }

func (slot *transformSlot) fail(st *statusv1.Status) {
	slot.result.Result = &crdevalv1.TransformResult_Error{Error: st}
}
