package api

import (
	"context"

	statusv1 "google.golang.org/genproto/googleapis/rpc/status"

	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// Admit answers the verdict on each write, with what the client is answered and what is stored.
func (s *evaluationService) Admit(ctx context.Context, r *crdevalv1.AdmitRequest) (*crdevalv1.AdmitResponse, error) {
	b, err := s.open(ctx, r)
	if err == nil {
		err = b.takeAdmission(r.GetStage(), r.GetInclude())
	}
	if err != nil {
		return nil, s.faults.call(ctx, err)
	}
	slots := make([]admitted, len(b.items))
	evaluate := func(ctx context.Context, r *resolver, i int) error {
		return b.admit(ctx, r, b.items[i], &slots[i])
	}
	fail := func(i int, st *statusv1.Status) { slots[i].fail(st) }
	if err := b.run(ctx, evaluate, fail); err != nil {
		return nil, s.faults.call(ctx, err)
	}
	answer := &crdevalv1.AdmitResponse{Results: make([]*crdevalv1.VerdictResult, len(slots))}
	for i := range slots {
		answer.Results[i] = &slots[i].result
	}
	return answer, nil
}

// admit evaluates one write into its place in the answer.
func (b *batch) admit(ctx context.Context, r *resolver, m *crdevalv1.EvaluationItem, at *admitted) error {
	if m.GetPatch() != nil && b.options.Stage == engine.StageFinish {
		return invalid("patch", "patch is of ADMISSION_STAGE_DECODE: ADMISSION_STAGE_FINISH takes the object that it answered")
	}
	v, err := r.judge(ctx, m, b.options, (*engine.Definition).Admit)
	if err != nil {
		return err
	}
	at.set(v)
	if err := b.budget.take(&at.result); err != nil {
		at.verdict.Reset()
		at.answered, at.stored = documentSlot{}, documentSlot{}
		return err
	}
	return nil
}

// takeAdmission reads the options that Admit has beside those of every call.
func (b *batch) takeAdmission(stage crdevalv1.AdmissionStage, include *crdevalv1.PresentationOptions) error {
	switch stage {
	case crdevalv1.AdmissionStage_ADMISSION_STAGE_UNSPECIFIED, crdevalv1.AdmissionStage_ADMISSION_STAGE_ALL:
		b.options.Stage = engine.StageAll
	case crdevalv1.AdmissionStage_ADMISSION_STAGE_DECODE:
		b.options.Stage = engine.StageDecode
	case crdevalv1.AdmissionStage_ADMISSION_STAGE_FINISH:
		b.options.Stage = engine.StageFinish
	default:
		return invalid("stage", "stage is %d, which is no Stage", stage)
	}
	return b.takeInclude(include)
}

// takeInclude reads what to present of each object.
func (b *batch) takeInclude(include *crdevalv1.PresentationOptions) error {
	if include == nil {
		return nil
	}
	at, err := now("include.now", include.GetNow())
	if err != nil {
		return err
	}
	b.options.Include = engine.PresentationOptions{
		SelectableFields: include.GetSelectableFields(), TableRow: include.GetTableRow(), Scale: include.GetScale(), Now: at,
	}
	return nil
}

// documentSlot is the place of a Document in an answer.
type documentSlot struct {
	document crdevalv1.Document
	json     crdevalv1.Document_Json
}

// set makes it the Document of a text; nil for none.
func (s *documentSlot) set(text []byte) *crdevalv1.Document {
	if text == nil {
		return nil
	}
	s.json.Json = text
	s.document.Content = &s.json
	return &s.document
}

// judged is the place of a verdict in an answer. An array of them holds what every result needs; what only some need comes on top.
type judged struct {
	result  crdevalv1.VerdictResult
	outcome crdevalv1.VerdictResult_Verdict
	verdict crdevalv1.Verdict
}

// set spells what Validate and Admit say alike.
func (at *judged) set(v *engine.Verdict) {
	m := &at.verdict
	m.Allowed, m.Revision = v.Allowed, v.Revision
	m.Rejection, m.Violations, m.Warnings = refusal(v.Rejection), violations(v.Violations), allValid(v.Warnings)
	m.Changes, m.Ratcheted = changes(v.Pruned, v.Defaulted), violations(v.Ratcheted)
	m.RuleTraces = traces(v.Traces, v.OmittedTraces)
	if m.Rejection != nil {
		m.Rejection.Status = json(v.Status)
	}
	at.outcome.Verdict = m
	at.result.Result = &at.outcome
}

// fail makes it an error.
func (at *judged) fail(st *statusv1.Status) {
	at.result.Result = &crdevalv1.VerdictResult_Error{Error: st}
}

// admitted is the place of the verdict of an Admit in an answer.
type admitted struct {
	judged
	answered, stored documentSlot
}

// set spells a verdict.
func (at *admitted) set(v *engine.Verdict) {
	at.judged.set(v)
	m := &at.verdict
	m.Object, m.StoredObject, m.OldObject = at.answered.set(v.Object), at.stored.set(v.StoredObject), json(v.OldObject)
	m.Deletes, m.Presentation = v.Deletes, presented(v.Presentation)
}
